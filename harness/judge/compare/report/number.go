package report

import (
	"strconv"

	"assay/harness/judge/compare"
)

// fixed is a ratio: three places, so that one stands under the other; of very
// large and very small ones the leading digits.
func fixed(v float64) string {
	switch {
	case v < 0.001 || v >= 1e6:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case v < 0.01:
		return strconv.FormatFloat(v, 'f', 4, 64)
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

func ratio(v *float64) string {
	if v == nil {
		return "-"
	}
	return fixed(*v)
}

func interval(m compare.Metric) string {
	if m.Lower == nil || m.Upper == nil {
		return "-"
	}
	return fixed(*m.Lower) + " .. " + fixed(*m.Upper)
}
