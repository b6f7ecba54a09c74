// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"slices"
	"strings"
)

// k6's output adds to the samples of a rate, which it counts in one counter NAME.total,
// whether they were 0 (K6_OTEL_SINGLE_COUNTER_FOR_RATE, the default).
const k6Condition, k6NonZero, k6Zero = "condition", "nonzero", "zero"

// convert gives the rates of k6's output our form: NAME.total without the condition, and
// NAME.occurred for samples that were not 0.
func convert(p Point, k6 bool) []Point {
	name, rate := strings.CutSuffix(p.Series.Name, RateTotal)
	condition := p.Series.Label(k6Condition)
	if !k6 || !rate || p.Kind != Counter || condition != k6NonZero && condition != k6Zero {
		return []Point{p}
	}
	p.Series.Labels = slices.DeleteFunc(slices.Clone(p.Series.Labels), func(l Label) bool { return l.Key == k6Condition })
	if condition == k6Zero {
		return []Point{p}
	}
	occurred := p
	occurred.Series.Name = name + RateOccurred
	return []Point{p, occurred}
}
