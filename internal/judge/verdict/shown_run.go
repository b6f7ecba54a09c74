// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"slices"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
)

func describeRate(e *evidence) Rate {
	completed := e.ended[metric.Completed]
	r := Rate{
		Unit: e.plan.Unit, Target: e.plan.Target, Lowest: e.plan.LowestJudged(),
		Scheduled: e.scheduled.pointer(), Completed: completed.pointer(), Dropped: e.ended[metric.Dropped].pointer(),
	}
	if completed.found && e.seconds > 0 {
		r.Achieved = new(float64(completed.n) / float64(e.seconds))
	}
	return r
}

func describeWindow(e *evidence) Window {
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

func describeOutcomes(e *evidence) Outcomes {
	return Outcomes{
		Completed: e.ended[metric.Completed].pointer(),
		Failed:    e.ended[metric.Failed].pointer(),
		TimedOut:  e.ended[metric.TimedOut].pointer(),
		Dropped:   e.ended[metric.Dropped].pointer(),
	}
}

func describeLedger(e *evidence) *Ledger {
	c := e.Ledger
	if c == nil {
		return nil
	}
	lag := func(q float64) *float64 { return known(c.Lag(q)) }
	if e.Misdated() != "" {
		lag = func(float64) *float64 { return nil }
	}
	return &Ledger{
		Acknowledged: c.Acknowledged, Persisted: c.Persisted,
		Missing: c.Missing, Duplicated: c.Duplicated, Unacknowledged: c.Unacknowledged,
		PersistLagMs: certificate.PersistLag{P50: lag(0.5), P99: lag(0.99), Max: lag(1)},
	}
}

func describeInvariants(e *evidence) (all []Invariant) {
	for i, planned := range e.Plan.Profile.Invariants {
		out := Invariant{Name: planned.Name, Error: "the run ended before it"}
		if i < len(e.Facts.Invariants) {
			fact := e.Facts.Invariants[i]
			if out.Error = fact.Error; fact.Error == "" {
				out.Rows = &fact.Rows
			}
		}
		all = append(all, out)
	}
	return all
}

func describeAbort(e *evidence) *Abort {
	a := e.Facts.Aborted
	if a == nil {
		return nil
	}
	out := &Abort{
		Condition: a.Metric, Expression: a.Expression, Protects: a.Protects, SLO: !a.Guards(), Truncated: e.aborted != nil,
		Unit: a.Unit, Limit: a.Limit, From: time.Unix(a.From, 0).UTC(), To: time.Unix(a.To, 0).UTC(),
	}
	switch {
	case out.SLO:
		out.Protects, out.Unit = "the target", "share"
	case out.Unit == "":
		out.Unit = "count"
	}
	for _, r := range a.Observed {
		out.Observed = append(out.Observed, Reading{At: time.Unix(r.Second, 0).UTC(), Value: r.Value})
	}
	return out
}

// describePool is nil where the service reports no pool.
func describePool(e *evidence) *Pool {
	per := func(n float64, found bool, of float64) *float64 {
		if !found || !finite(n) || of <= 0 {
			return nil
		}
		return new(n / of)
	}
	p := Pool{}
	_, _, p.Max = levelOf(e, metric.ServicePoolMax)
	_, p.Open, _ = levelOf(e, metric.ServicePoolOpen)
	p.InUse, p.InUseMax, _ = levelOf(e, metric.ServicePoolInUse)
	waits, counted := e.sum(metric.ServicePoolWaits, nil)
	ms, timed := e.sum(metric.ServicePoolWaitTime, nil)
	p.WaitsPerSecond = per(waits, counted, float64(e.seconds))
	p.WaitMsPerTransaction = per(ms, timed, float64(e.scheduled.n))
	p.MsPerWait = per(ms, timed && counted, waits)
	if p.WaitsPerSecond != nil {
		p.WaitsPerTransaction = per(waits, counted, float64(e.scheduled.n))
	}
	if p == (Pool{}) {
		return nil
	}
	return &p
}

// levelOf is a gauge of the service over the judged seconds; nil: no reading.
func levelOf(e *evidence, name string) (mean, largest, last *float64) {
	values := slices.DeleteFunc(gaugeValues(e.Timeline, metric.SourceService, name, e.spans...), func(v float64) bool { return !finite(v) })
	if len(values) == 0 {
		return nil, nil, nil
	}
	return new(sum(values) / float64(len(values))), new(slices.Max(values)), &values[len(values)-1]
}

// databaseErrors are the status counters of databases that count errors, by class. They
// count those of all clients of the server.
var databaseErrors = []struct{ counter, class string }{
	{"Connection_errors_max_connections", metric.ErrorTooMany},
	{"Aborted_connects", metric.ErrorAbortedConnect},
	{"Aborted_clients", metric.ErrorAbortedClient},
	{"Innodb_deadlocks", metric.ErrorDeadlock},
	{"deadlocks", metric.ErrorDeadlock}, // PostgreSQL
	{"wsrep_local_cert_failures", metric.ErrorCertification},
	{"wsrep_local_bf_aborts", metric.ErrorOtherNode},
}

// whyFailed is the class of errors that clients noticed most often in transactions that
// failed; empty: none.
func whyFailed(all []Error) (class string) {
	most := int64(0)
	for _, x := range all {
		inTime := x.Class != metric.ErrorTransaction && x.Class != metric.ErrorNotStarted
		if x.Where == metric.AtClient && inTime && x.Count > most {
			class, most = x.Class, x.Count
		}
	}
	return class
}

// describeErrors lists the errors of the judged windows: by place from the client to the
// database, the most frequent first. nil: no transaction was scheduled, so that nothing is
// known; empty: none of the places that report errors noticed one.
func describeErrors(e *evidence) []Error {
	if !e.scheduled.found {
		return nil
	}
	all := []Error{}
	add := func(where, class string, t tally) {
		if t.n > 0 {
			all = append(all, Error{Where: where, Class: class, Count: t.n, Share: ratio(t, e.scheduled)})
		}
	}
	seen := map[[2]string]bool{}
	for _, s := range e.Timeline.Series(metric.ErrorsByClass) {
		id := [2]string{s.Label("where"), s.Label("class")}
		if !seen[id] { // several sources may have a series of these labels
			seen[id] = true
			add(id[0], id[1], e.tally(metric.ErrorsByClass, append(label("where", id[0]), label("class", id[1])...)))
		}
	}
	for _, d := range databaseErrors {
		add(metric.AtDatabase, d.class, e.tally(metric.DBCounter, label("name", d.counter)))
	}
	places := []string{metric.AtClient, metric.AtScript, metric.AtService, metric.AtDatabase}
	slices.SortFunc(all, func(a, b Error) int {
		return cmp.Or(cmp.Compare(slices.Index(places, a.Where), slices.Index(places, b.Where)), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class))
	})
	return all
}

// known is a value that is known; nil: it is not.
func known(v float64, ok bool) *float64 {
	if !ok {
		return nil
	}
	return &v
}
