package synthetic

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

const (
	requests = metric.RequestDuration
	failures = metric.RequestFailed
)

// Arrivals is how many transactions each second of the plan schedules.
func Arrivals(pl plan.Plan) (perSecond []int64) {
	for _, s := range pl.Stages {
		counted, total := int64(0), (s.From+s.To)/2
		for t := time.Duration(0); t < s.Duration; t += time.Second {
			x := float64(t+time.Second) / float64(s.Duration)
			due := s.Arrivals
			if x < 1 {
				due = int64(float64(s.Arrivals) * x * (s.From + (s.To-s.From)*x/2) / total)
			}
			perSecond = append(perSecond, due-counted)
			counted = due
		}
	}
	return perSecond
}

// frame collects the points of one frame after another of a source. The series stay, so
// that not each frame makes their names and their buckets anew.
type frame struct {
	byName  map[string][]*entry
	entries []*entry // counters, then histograms, each by key
	sorted  bool
	judged  []judged // by SLO of the profile
}

// entry is a series, and its point in the frame.
type entry struct {
	metric.Point
	labels []string // keys and values alternating
	key    string
	used   bool // in this frame
}

// judged counts the samples of an SLO and its violations.
type judged struct {
	sampled                      bool // the SLO judges samples
	samples, violations, cleared float64
}

func newFrame(slos []spec.SLO) *frame {
	f := &frame{byName: map[string][]*entry{}}
	for _, s := range slos {
		f.judged = append(f.judged, judged{sampled: s.Kind() == spec.KindSamples})
	}
	return f
}

// entry is that of a series, and makes it the first time.
func (f *frame) entry(kind metric.Kind, name, unit string, labels []string) *entry {
	for _, e := range f.byName[name] {
		if e.Kind == kind && slices.Equal(e.labels, labels) {
			e.used = true
			return e
		}
	}
	e := &entry{Point: metric.Point{Series: metric.NewSeries(name, unit, labels...), Kind: kind}, labels: slices.Clone(labels), used: true}
	if kind == metric.Histogram {
		e.Hist = &metric.Hist{}
	}
	e.Series.Labels = slices.Clip(e.Series.Labels) // a test may append to those of one frame
	e.key = e.Series.Key()
	f.byName[name], f.entries, f.sorted = append(f.byName[name], e), append(f.entries, e), false
	return e
}

func (f *frame) count(v float64, name string, labels ...string) {
	f.entry(metric.Counter, name, "", labels).Value += v
}

func (f *frame) observe(v float64, name string, labels ...string) {
	f.entry(metric.Histogram, name, "ms", labels).Hist.Record(v, 1)
}

// points are those of this frame. The next one begins.
func (f *frame) points() (all []metric.Point) {
	if !f.sorted {
		slices.SortFunc(f.entries, func(a, b *entry) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.key, b.key))
		})
		f.sorted = true
	}
	for _, e := range f.entries {
		if !e.used {
			continue
		}
		p := e.Point
		if p.Hist != nil {
			p.Hist = p.Hist.Clone()
			e.Hist.Reset()
		}
		e.Value, e.used = 0, false
		all = append(all, p)
	}
	for i := range f.judged {
		f.judged[i] = judged{sampled: f.judged[i].sampled}
	}
	return all
}

// judge adds the counters of each SLO.
func (f *frame) judge(p spec.Profile) {
	for i, j := range f.judged {
		if j.samples == 0 {
			continue
		}
		id := p.WholeSLOs()[i].ID()
		f.count(j.samples, metric.Judged, "slo", id)
		if j.violations > 0 {
			f.count(j.violations, metric.Violations, "slo", id)
		}
		f.count(j.cleared, metric.ViolationsCleared, "slo", id)
	}
}

// workerFrames are the frames of one worker, with its closing frame. Worker i of w has
// the transactions n with n mod w = i.
func workerFrames(p spec.Profile, pl plan.Plan, worker int, system System, generator Generator) (all []metric.Frame) {
	source, n := metric.WorkerSource(worker), int64(0)
	totals := map[string]float64{}
	f := newFrame(p.WholeSLOs())
	for second, scheduled := range Arrivals(pl) {
		for range scheduled {
			if n++; int(n)%len(pl.Workers) == worker {
				latency, outcome := system(n)
				lag, stalled := generator(n)
				f.transaction(p, pl, latency, outcome, lag, stalled)
			}
		}
		f.judge(p)
		f.count(0.2, metric.WorkerCPU)
		f.count(0.1, metric.WorkerRunQueue)
		points := append(f.points(), metric.GaugePoint(metric.NewSeries(metric.WorkerCPUs, ""), 1))
		for _, pt := range points {
			switch {
			case pt.Kind == metric.Histogram:
				totals[pt.Series.Name] += float64(pt.Hist.Count())
			case pt.Series.Name == metric.Transactions, pt.Series.Name == failures+metric.RateTotal:
				totals[pt.Series.Name] += pt.Value
			}
		}
		all = append(all, metric.Frame{Source: source, Sequence: uint64(len(all) + 1), Second: T0.Unix() + int64(second), Points: points})
	}
	closing := []metric.Point{
		metric.CounterPoint(metric.NewSeries(metric.WorkerFrames, ""), float64(len(all))),
		metric.CounterPoint(metric.NewSeries(metric.WorkerSeed, "", "seed", fmt.Sprint(pl.Seed)), 1),
		metric.GaugePoint(metric.NewSeries(metric.WorkerStartDelay, "ms"), 0.1),
	}
	for _, name := range slices.Sorted(maps.Keys(totals)) {
		closing = append(closing, metric.CounterPoint(metric.NewSeries(metric.WorkerSamples, "", "metric", name), totals[name]))
	}
	end := T0.Add(pl.Duration()).Unix()
	return append(all, metric.Frame{Source: source, Sequence: uint64(len(all) + 1), Second: end, Closing: true, Points: closing})
}

// transaction adds one slot with one request, unless it was dropped. The time that the
// generator adds, by a late start (lag) and by stalls while it is open, counts as
// measured and not as cleared.
func (f *frame) transaction(p spec.Profile, pl plan.Plan, latency float64, outcome string, lag, stalled float64) {
	by := outcome
	switch by {
	case Threw, OwnError:
		outcome = metric.Failed
		f.count(1, metric.ScriptFailed)
		f.count(1, metric.GeneratorUndone)
	case Hung:
		outcome = metric.TimedOut
	case Idle:
		outcome = metric.Completed
	}
	if by == Threw || by == Idle {
		f.count(1, metric.TransactionsUnsent, "outcome", outcome)
	}
	f.count(1, metric.TransactionsScheduled)
	f.count(1, metric.Transactions, "outcome", outcome)
	if outcome == metric.Completed { // none takes so long that it ends much later
		f.count(1, metric.EndedTransactions)
	}
	measured := latency
	if outcome != metric.Dropped { // whose latency is the timeout
		measured += lag + stalled
	}
	f.observe(measured, metric.TransactionDuration)
	f.observe(lag, metric.GeneratorLag)
	if time.Duration(lag*float64(time.Millisecond)) > pl.DisplacedAfter {
		f.count(1, metric.GeneratorDisplaced)
	}
	if stalled > 0 {
		f.count(stalled, metric.GeneratorStall)
	}
	failed, status := 0.0, "200"
	if outcome != metric.Completed && by != OwnError {
		failed, status = 1, "500"
	}
	requested := !slices.Contains([]string{metric.Dropped, Threw, Hung, Idle}, by)
	if requested {
		f.observe(latency+stalled, "iteration_duration")
		f.observe(latency+stalled, requests, "name", "pay", "status", status)
		f.observe(latency+stalled, "http_req_waiting", "name", "pay")
		f.count(1, metric.Requests, "name", "pay", "status", status)
		f.count(1, metric.EndedRequests)
		f.count(latency+stalled, metric.EndedRequestTime)
		f.count(1, failures+metric.RateTotal, "name", "pay")
		f.count(failed, failures+metric.RateOccurred, "name", "pay")
	}
	for i, slo := range p.WholeSLOs() {
		if !f.judged[i].sampled {
			continue
		}
		sampled, violates, cleared := requested, slo.Violates(measured), slo.Violates(latency)
		switch slo.Metric {
		case metric.TransactionDuration:
			sampled, violates = true, violates || outcome != metric.Completed
			cleared = by != Threw && by != Idle && (cleared || failed == 1)
		case requests:
			violates, cleared = slo.Violates(latency+stalled) || failed == 1, cleared || failed == 1
		case failures:
			violates, cleared = slo.Violates(failed), slo.Violates(failed)
		}
		if !sampled {
			continue
		}
		f.judged[i].samples++
		if violates {
			f.judged[i].violations++
		}
		if cleared {
			f.judged[i].cleared++
		}
	}
}

// databaseFrames are samples of a database whose sessions wait for commits: 0.2 per sample
// in the baseline, 0.5 in the hold.
func databaseFrames(pl plan.Plan) (all []metric.Frame) {
	f := newFrame(nil)
	for second := range Arrivals(pl) {
		f.count(metric.DefaultSampleRate, metric.DBSample)
		commits := 2.0
		if time.Duration(second)*time.Second >= pl.Judged[0].Start {
			commits = 5
			f.count(1, metric.DBSession, "class", "CPU", "event", "cpu", "inferred", "true", "digest", "a")
		}
		f.count(commits-1, metric.DBSession, "class", "commit", "event", "io/file/innodb/innodb_log_file", "digest", "a")
		f.count(1, metric.DBSession, "class", "commit", "event", "io/file/innodb/innodb_log_file", "digest", "b")
		for range metric.DefaultSampleRate {
			f.observe(100, metric.DBSampleInterval)
		}
		all = append(all, metric.Frame{Source: metric.SourceDatabase, Sequence: uint64(len(all) + 1), Second: T0.Unix() + int64(second), Points: f.points()})
	}
	return all
}
