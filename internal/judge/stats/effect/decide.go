// SPDX-License-Identifier: Apache-2.0

package effect

// Decision is the result for one metric.
type Decision string

// The decisions. Undetermined is not evidence of equality.
const (
	Changed      Decision = "changed"
	Equivalent   Decision = "equivalent"
	Undetermined Decision = "undetermined"
)

// Decide compares an effect with a tolerance, a share like 0.03. The band is
// [1/(1+tolerance), 1+tolerance], which is symmetric in A and B. Changed: the interval
// is wholly outside, and the p-value, adjusted for all metrics, is at most Alpha.
// Equivalent: it is wholly inside; that needs no adjustment, as no hypothesis is
// rejected. Undetermined: otherwise, and without an interval or a p-value.
func Decide(e Effect, adjusted *float64, tolerance float64) Decision {
	i := e.Interval
	if i == nil || adjusted == nil {
		return Undetermined
	}
	lowest, highest := Band(tolerance)
	switch {
	case i.Lower >= lowest && i.Upper <= highest:
		return Equivalent
	case (i.Lower > highest || i.Upper < lowest) && *adjusted <= Alpha:
		return Changed
	}
	return Undetermined
}

// Band is the range of ratios that count as no change.
func Band(tolerance float64) (lower, upper float64) { return 1 / (1 + tolerance), 1 + tolerance }
