// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"time"

	"assay.dev/assay/internal/observe/metric"
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

// InRecoveries is how much of TargetHold may belong to recoveries from faults and changes in load,
// which the other SLOs do not judge. With several flows, it is that of the flow with the most.
func (p Profile) InRecoveries() (most time.Duration) {
	for _, f := range p.Flows {
		alone := p.Alone(f)
		total := time.Duration(0)
		if limit, ok := alone.Limit(metric.RecoveryTime); ok {
			for _, fault := range p.Faults {
				total += limit + time.Second // transactions are under way when it comes
				if fault.For > 0 {
					total += limit + time.Second
				}
			}
		}
		settles, _ := alone.Limit(metric.SettleTime)
		scales, _ := alone.Limit(metric.TimeToScale)
		settling := time.Duration(0) // for so much longer
		for i, s := range f.Load.Stages {
			settling -= s.Ramp
			inStage := max(0, min(settling, s.For))
			if f.Load.stepUp(i) {
				inStage = max(inStage, min(scales, s.For))
			}
			if s.Judge && s.Rate == f.Load.Highest() {
				total += inStage
			}
			if settling -= s.For; s.Overload {
				settling = settles
			}
		}
		if len(f.Load.Stages) == 0 && f.Load.stepsUp() {
			total += min(scales, f.Load.Hold)
		}
		most = max(most, total)
	}
	return most
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
