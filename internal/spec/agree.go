// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
	"math"

	"assay.dev/assay/internal/foreign"
)

// maxSLOValues bounds the JSON values of a stored SLO, with its selector.
const maxSLOValues = 10_000

// UnmarshalJSON reads an SLO of a plan. What is stored beside its expression, for whoever
// reads the plan without this package, must be what the expression says.
func (s *SLO) UnmarshalJSON(data []byte) error {
	type stored SLO
	var is stored
	if err := foreign.DecodeJSON(data, maxSLOValues, &is); err != nil {
		return err
	}
	const rounding = 1e-12 // of a quantile that a program has computed
	means := SLO{Metric: is.Metric}
	problem := means.parseExpression(is.Expression)
	if d, known := builtin(is.Metric); problem == "" && known {
		problem = means.mismatch(d, true)
	}
	if reason := means.alwaysCounted(); is.Basis == Inferred && reason != "" {
		problem = cmp.Or(problem, reason)
	}
	switch {
	case problem != "":
		return fmt.Errorf("SLO %s: %s: %s", SLO(is).MetricText(), quote(is.Expression), problem)
	case is.Expression != means.Expression || is.Aggregate != means.Aggregate || math.Abs(is.Quantile-means.Quantile) > rounding ||
		is.Count != means.Count || is.Operator != means.Operator || is.Bound != means.Bound:
		return fmt.Errorf("SLO %s: %s is not what is stored beside it: %s %g%s%s%g", SLO(is).MetricText(), quote(is.Expression), is.Aggregate, is.Quantile, is.Count, is.Operator, is.Bound)
	case is.Basis != "" && is.Basis != Counted && is.Basis != Inferred:
		return fmt.Errorf("SLO %s: unknown basis %s", SLO(is).Name(), quote(string(is.Basis)))
	}
	*s = SLO(is)
	s.Quantile = means.Quantile
	return nil
}
