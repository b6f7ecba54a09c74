// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"time"

	"assay.dev/assay/internal/rulebook"
)

// Scopes of a run: what its certificate may claim.
const (
	ScopeSmoke       = "smoke"
	ScopeCertificate = "certificate"
	// ScopeTrial is of a run whose rate, system or load was chosen for something else, as by
	// a search or an experiment: it is judged like a smoke, and certifies nothing.
	ScopeTrial = "trial"
)

// TargetHold is the total time for which judged windows hold the target rate; time at
// a lower rate does not count. With several flows, it is that of the flow with the shortest.
func (p Profile) TargetHold() (least time.Duration) {
	for i, f := range p.Flows {
		total := f.Load.Hold
		for _, s := range f.Load.Stages {
			if s.Judge && s.Rate == f.Load.Highest() {
				total += s.For
			}
		}
		if i == 0 || total < least {
			least = total
		}
	}
	return least
}

// Scope is the scope that the length of the profile's windows allows.
func (p Profile) Scope() string {
	if p.TargetHold() >= rulebook.CertificateHold {
		return ScopeCertificate
	}
	return ScopeSmoke
}

// DefaultHolds is how many holds an undecided run in scope certificate may last (docs/slos.md).
const DefaultHolds = 3

// InScope is the profile as it runs in a scope. In scope certificate an undecided run goes on, up
// to DefaultHolds holds, unless the profile states another hold_max, or one cannot be: the load
// would be too long, or the end of its hold must be known beforehand.
func (p Profile) InScope(scope string) Profile {
	if scope != ScopeCertificate || p.Named() || p.HasStages() || len(p.Flows) != 1 {
		return p
	}
	load := p.Flows[0].Load
	for holds := time.Duration(DefaultHolds); load.HoldMax == 0 && holds > 1; holds-- {
		longer := p.WithFlows(func(f *Flow) { f.Load.HoldMax = holds * f.Load.Hold })
		if len(longer.Flows[0].Load.check()) == 0 && len(longer.misplacedFaults()) == 0 && longer.judgedFault() == "" {
			return longer
		}
	}
	return p
}
