// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"slices"
	"strings"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/spec"
)

// bases names the basis of a PASS: "in this run", or "p95 and p99 at 95 % confidence,
// p99.9 and ledger in this run".
func bases(slos []SLO) string {
	inThisRun, atConfidence := "in this run", "at "+percent(stats.Confidence)+" confidence"
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
