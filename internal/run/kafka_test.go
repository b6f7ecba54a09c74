//go:build live

package run_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
)

// broker is a Kafka broker in this process.
func broker(t *testing.T) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DefaultNumPartitions(2))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// consumed makes a topic with n messages that its group has not committed.
func consumed(t *testing.T, c *kfake.Cluster, n int) *spec.Consumer {
	t.Helper()
	of := &spec.Consumer{Brokers: c.ListenAddrs(), Group: "g", Topic: "t"}
	cl, err := kgo.NewClient(kgo.SeedBrokers(of.Brokers...), kgo.DefaultProduceTopic(of.Topic))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	admin := kadm.NewClient(cl)
	if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, of.Topic); err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := cl.ProduceSync(t.Context(), kgo.StringRecord("x")).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	var start kadm.Offsets
	start.AddOffset(of.Topic, 0, 0, -1)
	if err := admin.CommitAllOffsets(t.Context(), of.Group, start); err != nil {
		t.Fatal(err)
	}
	return of
}

// behind are the flags of a service that answers once the broker has the event.
func behind(c *kfake.Cluster) []string {
	return []string{"--ingest", "kafka", "--ingest-batch", "5", "--drain-timeout", "1m", "--kafka-brokers", c.ListenAddrs()[0]}
}

// throughKafka returns the options of a run of the profile ingestion-kafka.
func (s service) throughKafka(t *testing.T, c *kfake.Cluster, rate float64, hold time.Duration) run.Options {
	t.Helper()
	o := s.ingestion(t, "ingestion-kafka", rate, hold)
	o.Profile.Consumer.Brokers = c.ListenAddrs()
	for i := range o.Profile.Flows[0].SLOs {
		switch s := &o.Profile.Flows[0].SLOs[i]; s.Metric {
		case metric.ConsumerLag:
			s.Bound, s.Expression = 100, "max<100"
		case metric.PersistLag:
			s.Bound, s.Expression = 60_000, "max<60000"
		}
	}
	return o
}

// The consumer keeps up, and then the broker cannot be reached by the collector: seconds
// without a reading are never a PASS.
func TestConsumerLagWithoutABroker(t *testing.T) {
	t.Parallel()
	cpus(t, 0.15)
	kafka := broker(t)
	s := serve(t, "mariadb", behind(kafka)...)
	o := s.throughKafka(t, kafka, 5, 10*time.Second)
	for i := range o.Profile.Flows[0].SLOs {
		if s := &o.Profile.Flows[0].SLOs[i]; s.Metric == metric.ConsumerLag {
			s.Bound, s.Expression = 1_000_000, "max<1000000"
		}
	}
	o.Profile.Abort = nil
	o.Progress = during(2*time.Second, kafka.Close)
	v := verdict.Judge(certify(t, o))
	if got := outcomeOf(v, metric.ConsumerLag, ""); got != verdict.Inconclusive || v.Outcome == verdict.Pass {
		t.Errorf("consumer_lag is %s, the run %s", got, v.Outcome)
	}
	for _, e := range v.Errors {
		t.Logf("%s: %s %d", e.Where, e.Class, e.Count)
	}
}
