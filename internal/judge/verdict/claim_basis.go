// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/spec"
)

// recurs is how often a disturbance must come so that a window of this length shows it: a fifth of
// the length. What comes at random as often as that is missing in one window of 150 (exp(-5));
// what comes once in a window, in one of three.
func recurs(seconds int64) string {
	return fmt.Sprintf("what recurs within %d s", seconds/5)
}

// bases names the basis of a PASS: "in this run", or "p95 and p99 at 95 % confidence for what
// recurs within 120 s, p99.9 and ledger in this run".
func bases(slos []SLO, seconds int64) string {
	inThisRun, atConfidence := "in this run", "at "+percent(stats.Confidence)+" confidence for "+recurs(seconds)
	both := func(string) bool { return false }
	inferred, counted := named(slos, spec.Inferred, both), named(slos, spec.Counted, both)
	if len(inferred) == 0 {
		return inThisRun
	}
	if len(counted) == 0 {
		return atConfidence
	}
	both = func(kind string) bool { return slices.Contains(inferred, kind) && slices.Contains(counted, kind) }
	return joinAnd(named(slos, spec.Inferred, both)) + " " + atConfidence + ", " + joinAnd(named(slos, spec.Counted, both)) + " " + inThisRun
}

// named are the distinct kinds of the SLOs decided on a basis, in their order, with the whole
// name of an SLO where whole(kind) is true: of a kind that is on both sides.
func named(slos []SLO, basis spec.Basis, whole func(kind string) bool) (all []string) {
	for _, s := range slos {
		text := s.kind()
		if whole(text) {
			text = s.Name()
		}
		if s.Basis == basis && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// kind is what an SLO is about, in a word: "p95", "maxima", "rates", "ledger".
func (s SLO) kind() string {
	aggregate, rest, _ := strings.Cut(s.Expression, "(")
	switch {
	case s.Metric == ThroughputMetric, (spec.SLO{Metric: s.Metric}).Kind() != spec.KindSamples:
		return strings.ReplaceAll(s.Metric, "_", " ")
	case aggregate == "p":
		n, _, _ := strings.Cut(rest, ")")
		return "p" + n
	case strings.HasPrefix(s.Expression, "rate"):
		return "rates"
	}
	return "maxima"
}

// countedFirst begins the claim of a certificate with what it counts where it could have inferred:
// that says nothing of another run. Empty: there is no such SLO.
func countedFirst(p *part, slos []SLO) string {
	if p.Plan.Scope != spec.ScopeCertificate {
		return ""
	}
	counted := slices.DeleteFunc(slices.Clone(slos), func(s SLO) bool { return s.PlannedBasis != spec.Counted })
	if len(counted) == 0 {
		return ""
	}
	return "Counted in this run only, by the profile's choice (" + joinAnd(named(counted, spec.Counted, func(string) bool { return false })) + "): "
}
