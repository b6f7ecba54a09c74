package spec

import "time"

// Scopes of a run: what its certificate may claim.
const (
	ScopeSmoke       = "smoke"
	ScopeCertificate = "certificate"
)

// CertificateHold is the least time for which a run of scope certificate holds its
// target (MLPerf Inference: 600 s).
const CertificateHold = 600 * time.Second

// TargetHold is the total time for which judged windows hold the target rate; time at
// a lower rate does not count.
func (p Profile) TargetHold() time.Duration {
	total := p.Load.Hold
	for _, s := range p.Load.Stages {
		if s.Judge && s.Rate == p.Target() {
			total += s.For
		}
	}
	return total
}

// Scope is the scope that the length of the profile's windows allows.
func (p Profile) Scope() string {
	if p.TargetHold() >= CertificateHold {
		return ScopeCertificate
	}
	return ScopeSmoke
}
