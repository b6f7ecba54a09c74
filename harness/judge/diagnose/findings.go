package diagnose

import (
	"assay/harness/judge/verdict"
	"assay/harness/observe/record"
)

// Values of Bottleneck.Component that name no component.
const (
	None         = "none"         // there is nothing to explain
	Undetermined = "undetermined" // the record does not decide
)

// Sure is the least confidence with which a component is named (ours).
const Sure = 0.95

// Findings is what a record says about where the time went.
type Findings struct {
	Waits      []Wait      // nil: the database was not sampled
	Split      []Component // of a transaction's mean time; nil: no transaction ran
	Bottleneck *Bottleneck // nil with Split
	Statements []Statement // nil: the database reported none
	Resources  []Resource  // what a transaction cost
}

// Component is a part of a transaction's mean time in the judged windows.
type Component struct {
	Name       string
	Ms         float64
	BaselineMs *float64 // nil: the plan has no baseline
	// Lower and Upper are the ends of a 95 % interval of Ms - BaselineMs, by
	// bootstrap over seconds; nil without a baseline.
	Lower, Upper *float64
}

// Bottleneck is the component that made a run miss its SLOs.
type Bottleneck struct {
	Component string // or None, or Undetermined
	// Class and Event are the wait that grew most in a component of the
	// database; empty for others.
	Class, Event string
	Inferred     bool // the event is a session's state, or only the absence of a wait
	// Confidence is the share of resamples in which the component leads all
	// others; of an undetermined bottleneck that of the leading candidate.
	// Nil where there is none.
	Confidence *float64
	Growth     *float64 // ms of a transaction that are charged to it
	Sentence   string
	Evidence   []string // further sentences
	Confirm    []string // experiments
	Remedy     string
	RunnerUp   *Candidate // nil: there is none
}

// Candidate is a component and what is charged to it.
type Candidate struct {
	Component string
	Growth    float64 // ms of a transaction
}

// Of diagnoses a judged run.
func Of(r record.Run, v verdict.Verdict) (f Findings) {
	if r.Timeline == nil {
		return f
	}
	f.Waits, f.Statements, f.Resources = waits(r, v.Judged), statements(r, v.Judged), resources(r, v.Judged)
	a := analyse(r, v)
	if a == nil {
		return f
	}
	f.Split = a.components()
	f.Bottleneck = a.bottleneck(f)
	return f
}
