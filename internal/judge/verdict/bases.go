// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/spec"
)

// inThisRun and atConfidence name the basis of a claim.
const inThisRun = "in this run"

var atConfidence = fmt.Sprintf("at %s confidence", percent(stats.Confidence))

// bases names the basis of a PASS: "in this run", or "p95 and p99 at 95 % confidence,
// p99.9 and ledger in this run".
func bases(slos []SLO) string {
	inferred, counted := kinds(slos, spec.Inferred), kinds(slos, spec.Counted)
	if len(inferred) == 0 {
		return inThisRun
	}
	if len(counted) == 0 {
		return atConfidence
	}
	// The SLOs of a kind that is on both sides are named one by one.
	if slices.ContainsFunc(inferred, func(k string) bool { return slices.Contains(counted, k) }) {
		both := func(k string) bool { return slices.Contains(inferred, k) && slices.Contains(counted, k) }
		inferred, counted = named(slos, spec.Inferred, both), named(slos, spec.Counted, both)
	}
	return fmt.Sprintf("%s %s, %s %s", joinAnd(inferred), atConfidence, joinAnd(counted), inThisRun)
}

// kinds are the distinct kinds of the SLOs decided on a basis, in their order.
func kinds(slos []SLO, basis spec.Basis) []string {
	return named(slos, basis, func(string) bool { return false })
}

// named is like kinds, with the whole name of an SLO where whole(kind) is true.
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
	aggregate, _, _ := strings.Cut(s.Expression, "(")
	switch {
	case s.Metric == ThroughputMetric, (spec.SLO{Metric: s.Metric}).Kind() != spec.KindSamples:
		return strings.ReplaceAll(s.Metric, "_", " ")
	case aggregate == "p":
		n, _, _ := strings.Cut(s.Expression[2:], ")")
		return "p" + n
	case strings.HasPrefix(s.Expression, "rate"):
		return "rates"
	}
	return "maxima"
}
