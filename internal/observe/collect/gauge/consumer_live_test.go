//go:build live

package gauge_test

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"assay.dev/assay/internal/observe/collect/gauge"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
)

// The lag of a consumer group grows with what is produced and falls with what is
// committed. While the broker is gone there are no data.
func TestConsumerLag(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
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
	watch(t, o, func(w *watched) {
		w.await(t, "the lag is read", metric.ConsumerLag, is(30))
		commit(ends())
		w.await(t, "the lag has fallen", metric.ConsumerLag, is(0))
		if got := slices.Compact(w.values(metric.ConsumerLag)); !slices.Equal(got, []float64{30, 0}) {
			t.Errorf("readings %v, want only 30 and then 0", got)
		}
		c.Close()
		w.awaitNone(t, "without a broker there is no lag", metric.ConsumerLag)
	})
}
