//go:build live

package run

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

const guardFirst = 100 // the first second of the runs in these tests

// gaugeReadings are frames of a gauge, one a second from guardFirst; negative: no reading.
func gaugeReadings(source, name string, values ...float64) (all []metric.Frame) {
	for i, v := range values {
		f := metric.Frame{Source: source, Second: guardFirst + int64(i)}
		if v >= 0 {
			f.Points = []metric.Point{metric.GaugePoint(metric.Of(name), v)}
		}
		all = append(all, f)
	}
	return all
}

func queueOver(limit float64, length time.Duration) spec.Abort {
	return spec.Abort{Metric: "queue_depth", Expression: "max>7 for 3s", Limit: limit, For: length}
}

// A second without a reading counts neither for nor against a condition; after more than
// maxUnread of them it begins again.
func TestGuardHoldsForConsecutiveReadings(t *testing.T) {
	gap := slices.Repeat([]float64{-1}, maxUnread)
	for name, c := range map[string]struct {
		values []float64
		from   int64 // second of the first reading that counts; 0: it does not hold
	}{
		"all over":                    {[]float64{8, 9, 8}, 100},
		"the last ones over":          {[]float64{1, 8, 9, 8}, 101},
		"one at the limit":            {[]float64{8, 7, 8}, 0},
		"too few so far":              {[]float64{8, 8}, 0},
		"nothing yet":                 {nil, 0},
		"a second without a reading":  {[]float64{8, -1, 9, 8}, 100},
		"the newest without one":      {[]float64{8, 9, 8, -1}, 100},
		"too few in spite of a gap":   {[]float64{8, -1, 8}, 0},
		"a gap as long as it may be":  {slices.Concat([]float64{8, 9}, gap, []float64{8}), 100},
		"a longer gap":                {slices.Concat([]float64{8, 9}, gap, []float64{-1, 8}), 0},
		"three again after it":        {slices.Concat([]float64{8, 9}, gap, []float64{-1, 8, 8, 8}), 113},
		"not over, then a gap":        {[]float64{8, 8, 1, -1, 8}, 0},
		"a reading of 0 is a reading": {[]float64{8, 8, 0, 8}, 0},
	} {
		w := newWatcher([]spec.Abort{queueOver(7, 3*time.Second)}, 0)
		for _, f := range gaugeReadings(metric.SourceGauges, "queue_depth", c.values...) {
			w.add(f)
		}
		a := w.abortCondition(guardFirst, guardFirst+int64(len(c.values))-1)
		if (a != nil) != (c.from > 0) || a != nil && (a.From != c.from || len(a.Observed) != 3 || a.Observed[0].Second != c.from || a.Protects != "the service") {
			t.Errorf("%s: %+v", name, a)
		}
	}
	w := newWatcher([]spec.Abort{queueOver(7, 3*time.Second)}, 0)
	for _, f := range gaugeReadings(metric.SourceGauges, "queue_depth", 8, 8, 8) {
		w.add(f)
	}
	if a := w.abortCondition(guardFirst+1, guardFirst+2); a != nil {
		t.Errorf("a reading from before the run counts: %+v", a)
	}
	if a := w.abortCondition(guardFirst, guardFirst+1); a != nil {
		t.Errorf("a reading after the second counts: %+v", a)
	}
}

// Each kind of condition is read from the frames of its source, and from no others.
func TestGuardReadings(t *testing.T) {
	counter := func(name string, v float64, labels ...string) metric.Point {
		return metric.CounterPoint(metric.Of(name, labels...), v)
	}
	gauge := func(name string, v float64, labels ...string) metric.Point {
		return metric.GaugePoint(metric.Of(name, labels...), v)
	}
	own := spec.Abort{Metric: "waiting", Gauge: &spec.Gauge{Metric: "x"}}
	orders := spec.Abort{Metric: "orders", Neighbour: &spec.Neighbour{URL: "http://127.0.0.1:1"}}
	for name, c := range map[string]struct {
		abort  spec.Abort
		source string
		points []metric.Point
		want   float64
		state  answer
	}{
		"sessions": {spec.Abort{Metric: metric.DBSessions}, metric.SourceDatabase, []metric.Point{
			counter(metric.DBSample, 10), counter(metric.DBSession, 30, "class", "cpu"), counter(metric.DBSession, 15, "class", "commit", "client", "batch"),
		}, 4.5, read},
		"no session is active":    {spec.Abort{Metric: metric.DBSessions}, metric.SourceDatabase, []metric.Point{counter(metric.DBSample, 10)}, 0, read},
		"no sample":               {spec.Abort{Metric: metric.DBSessions}, metric.SourceDatabase, []metric.Point{counter(metric.DBSample, 0)}, 0, unanswered},
		"connections":             {spec.Abort{Metric: metric.DBConnections}, metric.SourceDatabase, []metric.Point{gauge(metric.DBGauge, 90, "name", "Threads_connected"), gauge(metric.DBGauge, 300, "name", "Threads_running")}, 90, read},
		"deadlocks":               {spec.Abort{Metric: metric.DBDeadlocks}, metric.SourceDatabase, []metric.Point{counter(metric.DBCounter, 4, "name", "deadlocks"), counter(metric.DBCounter, 300, "name", "Questions")}, 4, read},
		"no deadlock":             {spec.Abort{Metric: metric.DBDeadlocks}, metric.SourceDatabase, []metric.Point{counter(metric.DBCounter, 0, "name", "Innodb_deadlocks")}, 0, read},
		"deadlocks are not shown": {spec.Abort{Metric: metric.DBDeadlocks}, metric.SourceDatabase, []metric.Point{counter(metric.DBCounter, 300, "name", "Questions")}, 0, unanswered},
		"aborted connections":     {spec.Abort{Metric: metric.DBAborted}, metric.SourceDatabase, []metric.Point{counter(metric.DBCounter, 4, "name", "Aborted_clients"), counter(metric.DBCounter, 3, "name", "Aborted_connects")}, 7, read},
		"pool waits":              {spec.Abort{Metric: metric.ServicePoolWaits}, metric.SourceService, []metric.Point{counter(metric.ServicePoolWaits, 12)}, 12, read},
		"no answer of a service":  {spec.Abort{Metric: metric.ServicePoolWaits}, metric.SourceService, []metric.Point{gauge(metric.ServiceInstances, 0)}, 0, unanswered},
		"pool in use":             {spec.Abort{Metric: metric.ServicePoolInUse}, metric.SourceService, []metric.Point{gauge(metric.ServicePoolInUse, 32)}, 32, read},
		"its own gauge":           {own, metric.SourceGauges, []metric.Point{gauge(metric.AbortGauge, 5, metric.LabelCondition, "waiting"), gauge(metric.AbortGauge, 99, metric.LabelCondition, "other")}, 5, read},
		"another's gauge":         {own, metric.SourceGauges, []metric.Point{gauge(metric.AbortGauge, 99, metric.LabelCondition, "other")}, 0, unanswered},
		"a neighbour": {orders, metric.SourceNeighbours, []metric.Point{
			counter(metric.NeighbourRequests, 40, metric.LabelCondition, "orders"), counter(metric.NeighbourErrors, 10, metric.LabelCondition, "orders"),
			counter(metric.NeighbourRequests, 40, metric.LabelCondition, "other"), counter(metric.NeighbourErrors, 40, metric.LabelCondition, "other"),
		}, 0.25, read},
		"an idle neighbour":   {orders, metric.SourceNeighbours, []metric.Point{counter(metric.NeighbourRequests, 0, metric.LabelCondition, "orders"), counter(metric.NeighbourErrors, 0, metric.LabelCondition, "orders")}, 0, idle},
		"no neighbour answer": {orders, metric.SourceNeighbours, nil, 0, unanswered},
		"another source":      {own, metric.SourceService, []metric.Point{gauge(metric.AbortGauge, 5, metric.LabelCondition, "waiting")}, 0, unanswered},
	} {
		g := newGuard(c.abort, 0)
		g.add(metric.Frame{Source: c.source, Second: guardFirst, Points: c.points})
		v, has := g.readings[guardFirst]
		if has != (c.state == read) || v != c.want || g.answered[guardFirst] != (c.state != unanswered) {
			t.Errorf("%s: %g, %v, answered %v", name, v, has, g.answered[guardFirst])
		}
	}
	if newGuard(spec.Abort{Metric: metric.RequestFailed}, 0) != nil {
		t.Error("a rate of the load has a guard")
	}
}

// The increase after a gap covers all of it: the rate is that of a second.
func TestGuardRateAfterGap(t *testing.T) {
	g := newGuard(spec.Abort{Metric: metric.DBDeadlocks}, 0)
	for _, c := range []struct {
		second int64
		v      float64
		want   float64
	}{{0, 6, 6}, {5, 60, 12}, {6, 2, 2}} {
		g.add(metric.Frame{Source: metric.SourceDatabase, Second: guardFirst + c.second, Points: []metric.Point{
			metric.CounterPoint(metric.Of(metric.DBCounter, "name", "Innodb_deadlocks"), c.v),
		}})
		if got := g.readings[guardFirst+c.second]; got != c.want {
			t.Errorf("second %d: %g, want %g", c.second, got, c.want)
		}
	}
	if len(g.readings) != 3 {
		t.Errorf("readings %v", g.readings)
	}
}

// The lag of a replica that cannot be read may be over the limit: the second says nothing,
// unless another one is over it.
func TestGuardOfSeveralReplicas(t *testing.T) {
	g := newGuard(spec.Abort{Metric: metric.ReplicaLag, Limit: 1000}, 2)
	for i, lags := range [][]float64{{300, 400}, {300}, {2000}, {2000, 10}} {
		f := metric.Frame{Source: metric.SourceLag, Second: guardFirst + int64(i)}
		for n, lag := range lags {
			f.Points = append(f.Points, metric.GaugePoint(metric.Of(metric.ReplicaLag, metric.LabelReader, string(rune('a'+n))), lag))
		}
		g.add(f)
	}
	want := map[int64]float64{100: 400, 102: 2000, 103: 2000}
	if len(g.readings) != len(want) {
		t.Errorf("%v", g.readings)
	}
	for second, v := range want {
		if g.readings[second] != v {
			t.Errorf("second %d: %g, want %g", second, g.readings[second], v)
		}
	}
}

// A source that does not answer is reported once, and so is its return; both are in a
// limitation with the seconds. One that answers without a request is not silent.
func TestGuardReportsSilence(t *testing.T) {
	w := newWatcher([]spec.Abort{{Metric: metric.RequestFailed}, queueOver(7, 3*time.Second)}, 0)
	values := slices.Concat([]float64{1, 1}, slices.Repeat([]float64{-1}, 14), []float64{1, -1, -1, 1})
	var texts []string
	for i, f := range gaugeReadings(metric.SourceGauges, "queue_depth", values...) {
		w.add(f)
		texts = append(texts, w.unread(guardFirst, guardFirst+int64(i))...)
	}
	want := []string{
		"queue_depth has not been read for 11 s: until it is, the condition max>7 for 3s does not protect the service",
		"queue_depth is read again",
	}
	if !slices.Equal(texts, want) {
		t.Errorf("%q", texts)
	}
	limitations := w.limitations(guardFirst, guardFirst+int64(len(values)))
	if len(limitations) != 1 || !strings.HasPrefix(limitations[0], "queue_depth was not read for 14 of 20 s, ") {
		t.Errorf("%q", limitations)
	}
	orders := spec.Abort{Metric: "orders", Expression: "rate>0.5 for 3s", Limit: 0.5, For: 3 * time.Second, Neighbour: &spec.Neighbour{}}
	w = newWatcher([]spec.Abort{orders}, 0)
	for second := int64(guardFirst); second < guardFirst+30; second++ {
		w.add(metric.Frame{Source: metric.SourceNeighbours, Second: second, Points: []metric.Point{
			metric.CounterPoint(metric.Of(metric.NeighbourRequests, metric.LabelCondition, "orders"), 0),
			metric.CounterPoint(metric.Of(metric.NeighbourErrors, metric.LabelCondition, "orders"), 0),
		}})
		if texts := w.unread(guardFirst, second); len(texts) > 0 {
			t.Errorf("an idle neighbour: %q", texts)
		}
	}
	w = newWatcher([]spec.Abort{orders}, 0)
	if texts := w.unread(guardFirst, guardFirst+maxUnread); len(texts) != 1 {
		t.Errorf("never read: %q", texts)
	}
	if got := w.limitations(guardFirst, guardFirst+15); len(got) != 1 || !strings.Contains(got[0], "for 15 of 15 s") {
		t.Errorf("never read: %q", got)
	}
	if got := w.limitations(guardFirst, guardFirst+maxUnread); len(got) != 0 {
		t.Errorf("a short run: %q", got)
	}
}
