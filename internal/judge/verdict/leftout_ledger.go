// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// repeatedLeftOut are acknowledgements that the ledger cannot tell apart.
func repeatedLeftOut(p *part) []certificate.Omission {
	if p.Ledger == nil {
		return nil
	}
	c := p.Ledger
	return []certificate.Omission{{
		What:         fmt.Sprintf("acknowledgements that repeat an identity (%d acknowledged, %d distinct): a loss and a duplicate of one would cancel out", c.Acknowledged, c.Acknowledged-c.Repeated),
		Transactions: &c.Repeated, Weighs: judgesMetric(p, metric.Ledger),
	}}
}

// earlyLeftOut are persist lags that are negative by more than clocks and columns explain.
func earlyLeftOut(p *part) []certificate.Omission {
	if p.Ledger == nil || p.Misdated() != "" {
		return nil
	}
	d := p.Ledger.Dates
	return []certificate.Omission{{
		What:         fmt.Sprintf("persist lags of rows that are dated up to %s s before their acknowledgement, which count as 0", number(float64(d.Lead)/1000)),
		Transactions: &d.Early, Weighs: judgesMetric(p, metric.PersistLag),
	}}
}

// judgesMetric reports whether an SLO is on a metric.
func judgesMetric(p *part, name string) bool {
	return slices.ContainsFunc(p.Plan.Profile.AllSLOs(), func(s spec.SLO) bool { return s.Metric == name })
}
