package verdict

import (
	"time"

	"assay/harness/observe/record"
	"assay/harness/spec"
)

// Verdict is what a record says. A nil pointer is "no data", which is never 0.
type Verdict struct {
	Outcome     Outcome
	Claim       string // one sentence: what was shown, or why nothing was
	SLOs        []SLO  // in the profile's order, then the implicit ones
	Rules       []Rule // in the order of the table
	Rate        Rate
	Window      Window
	Judged      []record.Span // the seconds that were judged: the hold windows, cut where the run was aborted
	Outcomes    Outcomes
	Latency     []Latency // the transaction first, then endpoints by name
	Generator   Generator
	Ledger      *Ledger // nil: nothing was compared
	Limitations []string
}

// SLO is one condition on the system under test and how it came out.
type SLO struct {
	Metric     string // with its selector, as thresholds.json writes it
	Expression string
	Unit       string // of Observed and Limit: "ms", "share" or "count"
	Limit      float64
	Observed   *float64 // percentiles to the histogram's resolution of 0.28 %: the counts decide, not this
	Lower      *float64 // interval of Observed, each side at stats.Alpha; nil where the samples do not bound it
	Upper      *float64
	Asked      spec.Basis // what a PASS was asked to rest on, where that is earned
	Basis      spec.Basis // what the outcome rests on: this run alone, or the test at 95 % confidence
	Samples    *int64
	Violations *int64 // exact; nil where only the interval below is known
	AtLeast    *int64 // violations that are certain, where no exact counter exists
	AtMost     *int64 // violations that are possible
	Allowed    *int64 // most violations with which these samples keep the bound
	// Cleared is how many violate it for certain even without what the generator
	// itself added; nil: of a condition that no samples decide.
	Cleared *int64

	// Of conditions that the inferred test may decide; nil for the others.
	DesignEffect *float64 // nil too where the seconds are too few to tell it: none counts then
	Effective    *float64 // samples that count: Samples / DesignEffect
	Needed       *float64 // least of them for PASS
	Correlation  *float64 // s, for which neighbouring samples resemble each other
	LongEnough   bool     // the window is long enough, given Correlation, for 95 % confidence

	// FailedWindow is the judged window, from 1, that breaks the condition by
	// itself where all together do not; nil: none does, or all do.
	FailedWindow *int
	// CloseWindow is one that holds more violations than it allows, and does not
	// surely break the condition; nil: none.
	CloseWindow *int
	// Hidden tells that the outcome would be another without the generator's share,
	// which leaves open what the system did.
	Hidden bool

	Outcome Outcome
}

// Rate is what was asked and what was done in the judged windows.
type Rate struct {
	Unit      string   // "tps" or "rps"
	Target    float64  // the highest judged rate of the plan, a second
	Lowest    float64  // the lowest; the same where the plan holds one rate
	Achieved  *float64 // completed a second
	Scheduled *int64
	Completed *int64
	Dropped   *int64
}

// Window is the judged time: the hold windows together.
type Window struct {
	Start   time.Time // of the first
	End     time.Time // of the last
	Seconds int64     // of all
	Count   int
}

// Outcomes counts how transactions scheduled in the judged windows ended.
type Outcomes struct{ Completed, Failed, TimedOut, Dropped *int64 }

// Latency describes a distribution in milliseconds.
type Latency struct {
	Name  string // TransactionName, or the endpoint's name
	Count int64
	Percentiles
	Lower, Upper Percentiles // of the interval of each, each side at stats.Alpha
	Max, Mean    *float64
}

// Percentiles of a distribution; nil is "no data", or no bound.
type Percentiles struct{ P50, P90, P95, P99, P999 *float64 }

// TransactionName is the name of the transaction's latency; endpoints come
// after it.
const TransactionName = "transaction"

// Generator tells whether the load was made as planned.
type Generator struct {
	Workers        int
	CPUShare       *float64 // of the busiest worker [0,1]
	WakeupLagP99Ms *float64
	FramesExpected *int64 // nil: a worker did not say
	FramesReceived int64
}

// Ledger is acknowledged against persisted.
type Ledger struct {
	Acknowledged, Persisted, Missing, Duplicated, Unacknowledged int64
	PersistLagP99Ms, PersistLagMaxMs                             *float64
}

// Judge reads the verdict off a record.
func Judge(r record.Run) Verdict {
	e := gather(r)
	e.slos = judgeSLOs(e)
	e.classes = judgeClasses(e)
	v := Verdict{
		SLOs:      e.slos,
		Rules:     applyRules(e),
		Rate:      e.rate(),
		Window:    e.window(),
		Judged:    e.spans,
		Outcomes:  e.outcomes(),
		Latency:   e.latency(),
		Generator: e.generator(),
		Ledger:    e.ledger(),
	}
	v.Outcome = Pass
	for _, s := range v.SLOs {
		v.Outcome = Worse(v.Outcome, s.Outcome)
	}
	for _, rule := range v.Rules {
		v.Outcome = Worse(v.Outcome, rule.Outcome)
	}
	if r.Ledger != nil && r.Ledger.Missing > 0 {
		v.Outcome = Worse(v.Outcome, LostWrite)
	}
	v.Limitations = limitations(e, v.Rules)
	v.Claim = claim(e, v)
	return v
}
