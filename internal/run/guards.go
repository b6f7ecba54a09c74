package run

import (
	"fmt"
	"slices"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// maxUnread is the longest time without a reading after which an abort condition goes on
// with the seconds that it had counted, and from which its progress is reported (ours): a
// busy source may miss a few readings, and the harm goes on meanwhile.
const maxUnread = 10

// guard watches an abort condition on something other than the load, by one reading for each
// second. A second without a reading counts neither for nor against it: nobody knows.
type guard struct {
	spec.Abort
	source string // source of the frames with the condition's readings
	series int    // number of series that a reading must cover, if it is not over the limit

	readings map[int64]float64
	answered map[int64]bool // seconds in which the source answered, although there may be no reading, as without a request
	last     int64          // newest of these; 0: none
	unread   bool           // it is reported that there is none
}

// newGuard returns the guard of a condition; nil for one on the load. readers is the number
// of the run's replicas.
func newGuard(a spec.Abort, readers int) *guard {
	if a.OfLoad() {
		return nil
	}
	g := &guard{Abort: a, source: a.Source(), series: 1, readings: map[int64]float64{}, answered: map[int64]bool{}}
	if a.Metric == metric.ReplicaLag {
		g.series = max(1, readers)
	}
	return g
}

// add takes the reading of one second.
func (g *guard) add(f metric.Frame) {
	if f.Source != g.source || f.Closing {
		return
	}
	v, state := g.reading(f)
	if state == unanswered {
		return
	}
	g.answered[f.Second], g.last = true, max(g.last, f.Second)
	if state == read {
		g.readings[f.Second] = v
	}
}

// answer is what a frame holds of a condition.
type answer int

const (
	unanswered answer = iota // nothing
	idle                     // nothing happened of which there could be a share
	read
)

// reading reads the value of a condition from a frame of its source.
func (g *guard) reading(f metric.Frame) (v float64, state answer) {
	switch {
	case g.Neighbour != nil:
		return share(sum(g.own(f), metric.NeighbourErrors, metric.NeighbourRequests))
	case g.Gauge != nil:
		return g.largest(g.own(f), metric.AbortGauge, nil)
	case g.Metric == metric.DBSessions:
		if v, state = share(sum(f, metric.DBSession, metric.DBSample)); state == idle { // without a sample
			return 0, unanswered
		}
		return v, state
	}
	names := metric.Variables(g.Metric)
	d, _ := metric.Find(g.Metric)
	switch {
	case d.Kind == metric.Gauge && names != nil:
		return g.largest(f, metric.DBGauge, names)
	case d.Kind == metric.Gauge:
		return g.largest(f, g.Metric, nil)
	case names != nil:
		return g.perSecond(f, metric.DBCounter, names)
	}
	return g.perSecond(f, g.Metric, nil)
}

// own is a frame with the points of this condition only.
func (g *guard) own(f metric.Frame) metric.Frame {
	f.Points = slices.DeleteFunc(slices.Clone(f.Points), func(p metric.Point) bool {
		return p.Series.Label(metric.LabelCondition) != g.Metric
	})
	return f
}

// named reports whether a point is of a metric, and of one of the status variables; nil: of
// any.
func named(p metric.Point, name string, variables []string) bool {
	return p.Series.Name == name && (variables == nil || slices.Contains(variables, p.Series.Label("name")))
}

// sum adds up two counters; found is whether the frame has the second.
func sum(f metric.Frame, part, whole string) (a, b float64, found bool) {
	for _, p := range f.Points {
		switch p.Series.Name {
		case part:
			a += p.Value
		case whole:
			b, found = b+p.Value, true
		}
	}
	return a, b, found
}

// share is a part of a whole, if there is any.
func share(part, whole float64, found bool) (float64, answer) {
	switch {
	case !found:
		return 0, unanswered
	case whole == 0:
		return 0, idle
	}
	return part / whole, read
}

// largest is the largest value of a gauge. It is not known without all series, unless it is
// over the limit already.
func (g *guard) largest(f metric.Frame, name string, variables []string) (v float64, state answer) {
	n := 0
	for _, p := range f.Points {
		if named(p, name, variables) {
			v, n = max(v, p.Value), n+1
		}
	}
	if n >= g.series || n > 0 && v > g.Limit {
		return v, read
	}
	return 0, unanswered
}

// perSecond is the increase of counters per second, since the last second in which they were
// read.
func (g *guard) perSecond(f metric.Frame, name string, variables []string) (v float64, state answer) {
	for _, p := range f.Points {
		if named(p, name, variables) {
			v, state = v+p.Value, read
		}
	}
	if passed := f.Second - g.last; g.last > 0 && passed > 1 {
		v /= float64(passed)
	}
	return v, state
}

// held returns the readings of the last seconds up to one, as many as the condition asks for,
// if all are over the limit; nil otherwise. None is from before first, the run's first
// second, and at most maxUnread seconds without a reading are between two of them.
func (g *guard) held(first, second int64) (all []record.Reading) {
	missing := 0
	for need := int(g.For / time.Second); len(all) < need; second-- {
		v, ok := g.readings[second]
		switch {
		case second < first || missing > maxUnread || ok && v <= g.Limit:
			return nil
		case !ok:
			missing++
		default:
			missing = 0
			all = append(all, record.Reading{Second: second, Value: v})
		}
	}
	slices.Reverse(all)
	return all
}

// abort is the record of a condition that held.
func (g *guard) abort(held []record.Reading) *record.Abort {
	return &record.Abort{
		Metric: g.Metric, Expression: g.Expression, Limit: g.Limit, Unit: g.Unit(), Protects: g.Protects(),
		From: held[0].Second, To: held[len(held)-1].Second + 1, Observed: held,
	}
}

// change returns a text if the source has begun not to answer for longer than maxUnread
// seconds up to one, or answers again; else nothing.
func (g *guard) change(first, second int64) string {
	silent := second - max(g.last, first-1)
	switch unread := silent > maxUnread; {
	case unread == g.unread:
		return ""
	case unread:
		g.unread = true
		return fmt.Sprintf("%s has not been read for %d s: until it is, the condition %s does not protect %s", g.Metric, silent, g.Expression, g.Protects())
	default:
		g.unread = false
		return g.Metric + " is read again"
	}
}

// limitation says for how long the condition protected nobody in the seconds [first, end);
// empty: never for longer than maxUnread seconds.
func (g *guard) limitation(first, end int64) string {
	total, silent := int64(0), int64(0)
	for second := first; second <= end; second++ {
		if second < end && !g.answered[second] {
			silent++
			continue
		}
		if silent > maxUnread {
			total += silent
		}
		silent = 0
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%s was not read for %d of %d s, in which the abort condition %s did not protect %s", g.Metric, total, end-first, g.Expression, g.Protects())
}
