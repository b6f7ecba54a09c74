// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// Values of Bottleneck.Component that name no component.
const (
	None         = "none"         // nothing to explain
	Undetermined = "undetermined" // the record does not single one out
)

// Retries is the cause of a downstream service that repeated calls keep overloaded.
const Retries = "retries"

// MinConfidence is the least confidence for naming a component (ours).
const MinConfidence = 0.95

// Findings is what a record says about where the time went.
type Findings struct {
	Waits      []Wait      // nil: the database was not sampled
	Split      []Component // of the mean time per transaction; nil: no transaction ran
	Bottleneck *Bottleneck // nil: no transaction ran
	Statements []Statement // nil: the database reported none
	Resources  []Resource  // mean cost per transaction
}

// Component is a part of the mean time per transaction in the judged windows.
type Component struct {
	Name       string
	Ms         float64
	BaselineMs *float64 // nil: the plan has no baseline
	// Lower and Upper are the 95 % confidence interval of Ms - BaselineMs, by bootstrap
	// over seconds; nil: the plan has no baseline.
	Lower, Upper *float64
}

// Bottleneck is the component that made a run miss its SLOs.
type Bottleneck struct {
	Component string // or None, or Undetermined
	// Class and Event are the wait that grew most within a component of the database;
	// empty for other components.
	Class, Event string
	Inferred     bool   // from the session's state or the absence of a wait, not from a wait event
	Client       string // the neighbour; empty for other components
	Cause        string // why the component is slow, where that is known: Retries; else empty
	// Confidence is that with which the component leads, at most 0.99 (confidence.go); of an
	// undetermined bottleneck, that of the leading candidate. Nil: no candidate.
	Confidence *float64
	Growth     *float64 // of the component, ms per transaction, without Queued
	// Queued is the time waiting for connections that the component holds, in ms per
	// transaction; nil: none is charged to it.
	Queued   *float64
	Sentence string
	Evidence []string // further sentences
	Flow     string   // whose SLOs are explained; empty: the profile has one scenario, or no flow failed
	Confirm  []string // names of experiments
	Remedy   string
	RunnerUp *Candidate // nil: no other component grew
}

// Candidate is a component and the growth that is charged to it.
type Candidate struct {
	Component string
	Growth    float64 // ms per transaction
}

// Of diagnoses a judged run.
func Of(r record.Run, v verdict.Verdict) (f Findings) {
	if r.Timeline == nil {
		return f
	}
	v.Judged = withoutLateEnds(r, v)
	f.Waits, f.Statements, f.Resources = waits(r, v.Judged), statements(r, v.Judged), resources(r, v.Judged)
	of := subjectOf(r, v)
	a := analyse(of)
	if a == nil {
		return f
	}
	f.Split = a.components()
	f.Bottleneck = a.bottleneck(f)
	f.Bottleneck.Flow = of.flow
	if of.flow != "" {
		f.Bottleneck.Sentence = spec.NameOf(of.flow, f.Bottleneck.Sentence)
		f.Bottleneck.Evidence = append(f.Bottleneck.Evidence, of.mixEvidence()...)
	}
	return f
}
