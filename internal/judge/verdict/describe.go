// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

func (e *evidence) rate() Rate {
	completed := e.ended[metric.Completed]
	r := Rate{
		Unit: e.plan.Unit, Target: e.plan.Target, Lowest: e.plan.LowestJudged(),
		Scheduled: e.scheduled.pointer(), Completed: completed.pointer(), Dropped: e.ended[metric.Dropped].pointer(),
	}
	if completed.found && e.seconds > 0 {
		r.Achieved = pointer(float64(completed.n) / float64(e.seconds))
	}
	return r
}

func (e *evidence) window() Window {
	w := Window{Seconds: e.seconds, Count: e.windowCount()}
	for i, s := range e.spans {
		start, end := time.Unix(s.From, 0).UTC(), time.Unix(s.To, 0).UTC()
		if i == 0 || start.Before(w.Start) {
			w.Start = start
		}
		if i == 0 || end.After(w.End) {
			w.End = end
		}
	}
	return w
}

func (e *evidence) outcomes() Outcomes {
	return Outcomes{
		Completed: e.ended[metric.Completed].pointer(),
		Failed:    e.ended[metric.Failed].pointer(),
		TimedOut:  e.ended[metric.TimedOut].pointer(),
		Dropped:   e.ended[metric.Dropped].pointer(),
	}
}

// latency describes the transaction, every endpoint by the label name of its requests
// (other labels, such as the status, are merged), and the script's own times that SLOs
// judge, by the SLOs' metric and selector. Groups of the script, which are the steps of a
// journey, are named like "group checkout". An interval takes as long as an SLO does: where
// there are too many names for the judged seconds, the others have none.
func (e *evidence) latency() map[string]Latency {
	all := map[string]Latency{}
	add := func(name string, d *distribution) {
		all[name] = describe(d, (len(all)+1)*len(e.windows) <= spec.MaxJudged)
	}
	add(TransactionName, e.distribution(metric.TransactionDuration, nil))
	seen := map[string]bool{TransactionName: true}
	for _, of := range metric.Protocols {
		for _, name := range e.endpointNames(of, nil) {
			d := e.distribution(of.Duration(), label("name", name)) // empty also selects the series without one
			if d.all.Count() == 0 {
				continue
			}
			name = cmp.Or(name, "(no name)")
			if seen[name] { // the transaction, or an endpoint of another protocol
				name = of.Duration() + " " + name
			}
			seen[name] = true
			add(name, d)
		}
	}
	for _, s := range e.seriesOf(metric.GroupDuration) {
		name := strings.TrimPrefix(s.Label("group"), groupSeparator)
		if name == "" || seen[groupSeparator+name] {
			continue
		}
		seen[groupSeparator+name] = true
		if d := e.distribution(metric.GroupDuration, label("group", s.Label("group"))); d.all.Count() > 0 {
			add("group "+name, d)
		}
	}
	for _, s := range e.Plan.Profile.WholeSLOs() {
		name := s.MetricText()
		if _, known := metric.Find(s.Metric); known || seen[name] || !e.isTime(s.Metric) {
			continue
		}
		seen[name] = true
		if d := e.distribution(s.Metric, s.Selector); d.all.Count() > 0 {
			add(name, d)
		}
	}
	return all
}

// groupSeparator begins the names of k6's groups, and separates those of nested ones.
const groupSeparator = "::"

// isTime reports whether a metric of the script is a trend of times.
func (e *evidence) isTime(name string) bool {
	return slices.ContainsFunc(e.seriesOf(name), func(s metric.Series) bool { return s.Unit == "ms" })
}

// describe describes a distribution, with intervals or without.
func describe(d *distribution, intervals bool) Latency {
	l := Latency{Unit: "ms", Count: int64(d.all.Count())}
	var least, most Ends
	for _, p := range []struct {
		q                          float64
		is, lower, upper, from, to **float64
	}{
		{0.5, &l.P50, &l.Lower.P50, &l.Upper.P50, &least.P50, &most.P50},
		{0.9, &l.P90, &l.Lower.P90, &l.Upper.P90, &least.P90, &most.P90},
		{0.95, &l.P95, &l.Lower.P95, &l.Upper.P95, &least.P95, &most.P95},
		{0.99, &l.P99, &l.Lower.P99, &l.Upper.P99, &least.P99, &most.P99},
		{0.999, &l.P999, &l.Lower.P999, &l.Upper.P999, &least.P999, &most.P999},
	} {
		if v, ok := d.all.Quantile(p.q); ok {
			*p.is = &v
			if intervals {
				*p.lower, *p.upper = d.interval(p.q)
			}
			*p.from, *p.to = d.ends(p.q)
		}
	}
	if highest, ok := d.all.Quantile(1); ok {
		l.Max = &highest
		least.Max, most.Max = d.ends(1)
	}
	if mean, ok := d.all.Mean(); ok {
		l.Mean = &mean
	}
	if least != (Ends{}) {
		l.AtLeast = &least
	}
	if most != (Ends{}) {
		l.AtMost = &most
	}
	clear(d.counted) // of a day, 4 MB for each limit
	return l
}

func (e *evidence) generator() Generator {
	g := Generator{Workers: len(e.plan.Workers), Fleet: e.workerTable()}
	g.FramesExpected, g.FramesReceived, _ = checkStreams(e)
	g.CPUShare, _, _ = busiestWorker(e)
	if lag, ok := e.lag.Quantile(0.99); ok {
		g.WakeupLagP99Ms = &lag
	}
	return g
}

func (e *evidence) ledger() *Ledger {
	c := e.Ledger
	if c == nil {
		return nil
	}
	l := &Ledger{
		Acknowledged: c.Acknowledged, Persisted: c.Persisted,
		Missing: c.Missing, Duplicated: c.Duplicated, Unacknowledged: c.Unacknowledged,
	}
	if lag, ok := c.Lag(0.5); ok {
		l.PersistLagMs.P50 = &lag
	}
	if lag, ok := c.Lag(0.99); ok {
		l.PersistLagMs.P99 = &lag
	}
	if lag, ok := c.Lag(1); ok {
		l.PersistLagMs.Max = &lag
	}
	return l
}
