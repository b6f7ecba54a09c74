//go:build long

package run_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// The replica falls behind.
func TestLongAbortOnReplicaLag(t *testing.T) {
	t.Parallel()
	cpus(t, 0.35)
	s := serve(t, "mysql")
	replica := mysqldtest.Replica(t, s.server)
	root := mysqldtest.Open(t, replica.DSN())
	mysqldtest.Exec(t, root, "STOP REPLICA", "CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='binlog.000001', SOURCE_LOG_POS=4", "START REPLICA")
	o := s.payments(t, quickLoad(10, 3*time.Minute))
	o.Readers = []string{replica.DSN()}
	condition := on(metric.ReplicaLag, "max", 4000)
	o.Profile.Abort = []spec.Abort{condition}
	stopsWhen(t, o, condition, func(ctx context.Context) error {
		_, err := root.ExecContext(ctx, "STOP REPLICA SQL_THREAD")
		return err
	})
}

// A healthy run with conditions of every kind passes, and the record has the readings of each.
func TestLongAbortConditionsThatDoNotHold(t *testing.T) {
	t.Parallel()
	cpus(t, 0.5)
	expectPass(t, func(t *testing.T) verdict.Verdict {
		s := serve(t, "mysql")
		replica := mysqldtest.Replica(t, s.server)
		root := mysqldtest.Open(t, replica.DSN())
		mysqldtest.Exec(t, root, "STOP REPLICA", "CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='binlog.000001', SOURCE_LOG_POS=4", "START REPLICA")
		orders := newNeighbour(t)
		o := withMaxSLOs(s.payments(t, quickLoad(20, 10*time.Second)))
		o.Readers = []string{replica.DSN()}
		gauge := spec.Abort{Metric: "busy", Expression: "max>1000 for 3s", Limit: 1000, For: 3 * time.Second, Gauge: &spec.Gauge{Metric: "go_sql_in_use_connections"}}
		o.Profile.Abort = []spec.Abort{
			on(metric.RequestFailed, "rate", 0.5), on(metric.DBSessions, "max", 1000), on(metric.DBConnections, "max", 1000), on(metric.DBDeadlocks, "rate", 100),
			on(metric.DBAborted, "rate", 100), on(metric.ReplicaLag, "max", 60_000), on(metric.ServicePoolWaits, "rate", 10_000), on(metric.ServicePoolWaitTime, "rate", 1e6),
			on(metric.ServicePoolInUse, "max", 1000), gauge, orders.counted("orders"), orders.healthy("orders-health"),
		}
		r := certify(t, o)
		if r.Facts.Aborted != nil || r.Facts.Stopped != "" {
			t.Errorf("stopped: %q", r.Facts.Stopped)
		}
		for _, text := range r.Facts.Limitations {
			if alone && strings.Contains(text, "was not read") {
				t.Error(text)
			}
		}
		for name, labels := range map[string][]metric.Label{
			metric.ReplicaLag: nil, metric.ServicePoolInUse: nil, metric.DBGauge: {{Key: "name", Value: "Threads_connected"}}, metric.AbortGauge: {{Key: metric.LabelCondition, Value: "busy"}},
		} {
			d, _ := metric.Find(name)
			if _, ok := r.Timeline.Gauge(name, labels, d.Sources[0], judged(r)); !anyTrue(ok) {
				t.Errorf("the record has no %s", name)
			}
		}
		for name, labels := range map[string][]metric.Label{
			metric.DBSample: nil, metric.ServicePoolWaits: nil, metric.ServicePoolWaitTime: nil, metric.DBCounter: {{Key: "name", Value: "Innodb_deadlocks"}},
			metric.NeighbourRequests: {{Key: metric.LabelCondition, Value: "orders"}}, metric.NeighbourErrors: {{Key: metric.LabelCondition, Value: "orders-health"}},
		} {
			if _, ok := r.Timeline.Sum(name, labels, judged(r)); !ok {
				t.Errorf("the record has no %s", name)
			}
		}
		checkCatalogue(t, o.Dir)
		return verdict.Judge(r)
	})
}

// A neighbour whose metrics can no longer be read neither stops the run nor goes unnoticed.
func TestLongAbortThatCannotSee(t *testing.T) {
	t.Parallel()
	cpus(t, 0.1)
	orders := newNeighbour(t)
	o := options(t, steady(20, 20*time.Second), getScript, idleTarget(t))
	o.Profile.Abort = []spec.Abort{orders.counted("orders")}
	silent := during(time.Second, func() { orders.silent.Store(true); orders.failing.Store(true) })
	var said atomic.Bool
	o.Progress = func(e run.Event) {
		if strings.HasPrefix(e.Text, "orders has not been read for ") && strings.HasSuffix(e.Text, "does not protect the neighbour orders") {
			said.Store(true)
		}
		silent(e)
	}
	r := certify(t, o)
	if r.Facts.Stopped != "" || !said.Load() {
		t.Errorf("stopped: %q; reported in the progress: %v", r.Facts.Stopped, said.Load())
	}
	if v := verdict.Judge(r); !strings.Contains(strings.Join(v.Limitations, "\n"), "in which the abort condition rate>0.05 for 3s did not protect the neighbour orders") {
		t.Errorf("limitations %q", v.Limitations)
	}
}
