// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"assay.dev/assay/certificate"
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

// Findings is what a record says about where the time went, as it stands in the certificate
// with rounded numbers.
type Findings struct {
	Waits      []certificate.Wait      // nil: the database was not sampled
	Split      []certificate.Split     // split of the mean time per transaction; nil: no transaction ran
	Bottleneck *certificate.Bottleneck // nil: no transaction ran
	Statements []certificate.Statement // nil: the database reported none
	Resources  []certificate.Resource  // mean cost per transaction
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
	a.found = f
	b := a.bottleneck()
	if b.Flow = of.flow; b.Flow != "" {
		b.Sentence = spec.NameOf(b.Flow, b.Sentence)
		b.Evidence = append(b.Evidence, of.mixEvidence()...)
	}
	b.Evidence, b.Confirm = append([]string{}, b.Evidence...), append([]string{}, b.Confirm...) // null would be no data
	f.Bottleneck = b
	return f
}
