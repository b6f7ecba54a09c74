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
