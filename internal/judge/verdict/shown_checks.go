// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// describeChecks counts the passes and failures of each check of the script, those that failed
// most often first, then those that are made most often. A worker bounds their number.
func describeChecks(p *part) (all []certificate.Check) {
	for _, f := range p.perFlow() {
		for _, c := range checksOf(f.whole, nil, func([]metric.Label) bool { return true }) {
			c.Flow = f.flow()
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, byFailures)
	return all[:min(len(all), maxChecks)]
}

// maxChecks bounds the checks of a certificate: of one flow all that a worker keeps apart.
const maxChecks = 2 * metric.MaxSeries

// checksOf are the checks of the script of which these parts of the samples are so.
func checksOf(e *evidence, judged []spec.SLO, is func(part []metric.Label) bool) (all []certificate.Check) {
	byName := map[[2]string]int{}
	for _, part := range e.partsOf(metric.Checks+metric.RateTotal, judged) {
		made, passed := e.samplesOf(metric.Checks, part)
		if made == 0 || !is(part) {
			continue
		}
		of := metric.Series{Labels: part}
		key := [2]string{cmp.Or(of.Label("check"), "(others)"), of.Label("group")}
		i, known := byName[key]
		if !known {
			i = len(all)
			byName[key], all = i, append(all, certificate.Check{Name: key[0], Group: key[1]})
		}
		all[i].Passes, all[i].Failures = all[i].Passes+passed, all[i].Failures+made-passed
	}
	slices.SortStableFunc(all, byFailures)
	return all
}

// byFailures puts the checks with the largest share of failures first.
func byFailures(a, b certificate.Check) int {
	share := func(c certificate.Check) float64 { return float64(c.Failures) / float64(c.Passes+c.Failures) }
	return cmp.Or(cmp.Compare(share(b), share(a)), cmp.Compare(b.Passes+b.Failures, a.Passes+a.Failures), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Group, b.Group))
}
