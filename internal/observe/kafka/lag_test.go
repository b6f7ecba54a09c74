package kafka_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/kafka"
)

// broker is a Kafka broker in this process.
func broker(t *testing.T, options ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(3, "events")}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// client is the test's own.
func client(t *testing.T, c *kfake.Cluster, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner())}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func produce(t *testing.T, cl *kgo.Client, partition int32, n int) {
	t.Helper()
	for range n {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "events", Partition: partition, Value: []byte("x")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// commit commits the next offset of a partition.
func commit(t *testing.T, cl *kgo.Client, partition int32, at int64) {
	t.Helper()
	var offsets kadm.Offsets
	offsets.AddOffset("events", partition, at, -1)
	if err := kadm.NewClient(cl).CommitAllOffsets(t.Context(), "g", offsets); err != nil {
		t.Fatal(err)
	}
}

func group(t *testing.T, c *kfake.Cluster, access, name, topic string) *kafka.Group {
	t.Helper()
	a, err := kafka.ParseAccess(access)
	if err != nil {
		t.Fatal(err)
	}
	g, err := kafka.NewGroup(a, c.ListenAddrs(), name, topic)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// The lag is the sum over all partitions: one without a commit counts from its start, and
// so does one whose commit is before it.
func TestLag(t *testing.T) {
	t.Parallel()
	c := broker(t)
	cl, g := client(t, c), group(t, c, "", "g", "events")
	commit(t, cl, 2, 0)
	expect := func(what string, want int64) {
		t.Helper()
		if got, err := g.Lag(limited(t)); err != nil || got != want {
			t.Errorf("%s: lag %d, %v; want %d", what, got, err, want)
		}
	}
	expect("an empty topic", 0)
	produce(t, cl, 0, 5)
	produce(t, cl, 1, 7)
	expect("nothing committed", 12)
	commit(t, cl, 0, 3)
	expect("one of three partitions committed", 2+7)
	commit(t, cl, 1, 7)
	expect("another read to its end", 2)
	// Messages that the broker has deleted are no lag: nobody can read them.
	var deleted kadm.Offsets
	deleted.AddOffset("events", 0, 4, -1)
	if _, err := kadm.NewClient(cl).DeleteRecords(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	expect("the start is after the commit", 1)
	if err := g.Check(limited(t)); err != nil {
		t.Error(err)
	}
	// A topic that was made again.
	commit(t, cl, 1, 9)
	if got, err := g.Lag(limited(t)); err == nil || !strings.Contains(err.Error(), "committed offset 9 of partition 1 of topic events, which ends at 7") {
		t.Errorf("%d, %v", got, err)
	}
}

// What does not exist, or may not be read, has no lag.
func TestNoLag(t *testing.T) {
	t.Parallel()
	c := broker(t)
	commit(t, client(t, c), 0, 0)
	for name, g := range map[string]*kafka.Group{
		"no consumer group other":         group(t, c, "", "other", "events"),
		"read the offsets of topic other": group(t, c, "", "g", "other"),
	} {
		if err := g.Check(limited(t)); err == nil || !strings.Contains(err.Error(), name) || hint.Of(err) == "" {
			t.Errorf("%v, want %q", err, name)
		}
	}
	if lag, err := group(t, c, "", "g", "other").Lag(limited(t)); err == nil {
		t.Errorf("a topic that does not exist has the lag %d", lag)
	}
	// One partition of three fails.
	g := group(t, c, "", "g", "events")
	c.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := r.ResponseKind().(*kmsg.ListOffsetsResponse)
		for _, topic := range r.(*kmsg.ListOffsetsRequest).Topics {
			of := kmsg.NewListOffsetsResponseTopic()
			of.Topic = topic.Topic
			for _, p := range topic.Partitions {
				partition := kmsg.NewListOffsetsResponseTopicPartition()
				partition.Partition, partition.Offset = p.Partition, 5
				if p.Partition == 2 {
					partition.ErrorCode = 29 // TOPIC_AUTHORIZATION_FAILED
				}
				of.Partitions = append(of.Partitions, partition)
			}
			resp.Topics = append(resp.Topics, of)
		}
		return resp, nil, true
	})
	if lag, err := g.Lag(limited(t)); err == nil || !strings.Contains(hint.Of(err), "allow the user") {
		t.Errorf("lag %d, %v", lag, err)
	}
	c.Close()
	if lag, err := g.Lag(limited(t)); err == nil || hint.Of(err) == "" {
		t.Errorf("lag %d of a broker that is gone, %v", lag, err)
	}
}

// Credentials of ASSAY_KAFKA are used, and wrong ones are named.
func TestCredentials(t *testing.T) {
	t.Parallel()
	c := broker(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-512", "u", "hunter2"))
	commit(t, client(t, c, kgo.SASL(scram.Auth{User: "u", Pass: "hunter2"}.AsSha512Mechanism())), 0, 0)
	if _, err := group(t, c, "kafka://u:hunter2@", "g", "events").Lag(limited(t)); err != nil {
		t.Error(err)
	}
	for _, access := range []string{"", "kafka://u:hunter3@"} {
		_, err := group(t, c, access, "g", "events").Lag(limited(t))
		if err == nil || strings.Contains(err.Error(), "hunter") || !strings.Contains(hint.Of(err), "sasl") {
			t.Errorf("%q: %v (%s)", access, err, hint.Of(err))
		}
	}
}
