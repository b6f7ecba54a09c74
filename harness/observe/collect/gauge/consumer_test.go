package gauge_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"assay/harness/observe/collect/gauge"
	"assay/harness/observe/metric"
	"assay/harness/polltest"
	"assay/harness/spec"
)

// awaitReads waits until the readings of two seconds were answered.
func awaitReads(t *testing.T, reads *atomic.Int64) {
	t.Helper()
	end, want := time.Now().Add(2200*time.Millisecond), reads.Load()+8
	polltest.Until(t, "the lag is read", func() bool { return time.Now().After(end) && reads.Load() >= want })
}

// The lag of a consumer group grows with what is produced and falls with what is
// committed. While the broker is gone there are no data.
func TestConsumerLag(t *testing.T) {
	t.Parallel()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "events"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DefaultProduceTopic("events"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	commit := func(upTo kadm.ListedOffsets) {
		if err := kadm.NewClient(cl).CommitAllOffsets(t.Context(), "g", upTo.Offsets()); err != nil {
			t.Error(err)
		}
	}
	ends := func() kadm.ListedOffsets {
		all, err := kadm.NewClient(cl).ListEndOffsets(t.Context(), "events")
		if err != nil {
			t.Error(err)
		}
		return all
	}
	commit(ends())
	o := gauge.Options{Profile: spec.Profile{Consumer: &spec.Consumer{Brokers: c.ListenAddrs(), Group: "g", Topic: "events"}}}
	for range 30 {
		if err := cl.ProduceSync(t.Context(), kgo.StringRecord("x")).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	var reads atomic.Int64 // a reading asks twice: for the starts, and for the ends
	c.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		reads.Add(1)
		return nil, nil, false
	})
	var gone int64
	all := watch(t, o, func() {
		awaitReads(t, &reads)
		commit(ends())
		awaitReads(t, &reads)
		c.Close()
		gone = time.Now().Unix()
		time.Sleep(3500 * time.Millisecond)
	})
	if got := lags(all, metric.ConsumerLag); len(got) < 3 || got[0] != 30 || got[len(got)-1] != 0 {
		t.Errorf("readings %v, want 30 first and 0 last", got)
	}
	for _, second := range all.Seconds() {
		if v, ok := all.GaugeSum(metric.ConsumerLag, nil, second); ok && second > gone {
			t.Errorf("lag %g without a broker", v)
		}
	}
}

// The user may name the profile's broker in the environment, on any host.
func TestConsumerOfTheUsersBroker(t *testing.T) {
	c := spec.Consumer{Brokers: []string{"broker.invalid:9092"}, Group: "g", Topic: "events"}
	for env, refused := range map[string]bool{"": true, "kafka://user:password@": true, "kafka://broker.invalid:9092": false} {
		t.Setenv("ASSAY_KAFKA", env)
		err := gauge.Options{Profile: spec.Profile{Consumer: &c}}.Examine(t.Context(), metric.ConsumerLag)
		if err == nil || strings.Contains(err.Error(), "neither loopback nor the target's host") != refused {
			t.Errorf("%q: %v", env, err)
		}
	}
}

// What cannot be read is named before the run.
func TestConsumerCannotBeRead(t *testing.T) {
	t.Parallel()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "events"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for want, of := range map[string]spec.Consumer{
		"no consumer group g":                    {Brokers: c.ListenAddrs(), Group: "g", Topic: "events"},
		"UNKNOWN_TOPIC":                          {Brokers: c.ListenAddrs(), Group: "g", Topic: "other"},
		"connection refused":                     {Brokers: []string{"127.0.0.1:1"}, Group: "g", Topic: "events"},
		"neither loopback nor the target's host": {Brokers: []string{"192.0.2.1:9092"}, Group: "g", Topic: "events"},
		"no Kafka broker is named":               {Group: "g", Topic: "events"},
	} {
		o := gauge.Options{Profile: spec.Profile{Consumer: &of}}
		if names := o.Metrics(); len(names) != 1 || names[0] != metric.ConsumerLag {
			t.Errorf("metrics %v", names)
		}
		if err := o.Examine(t.Context(), metric.ConsumerLag); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
