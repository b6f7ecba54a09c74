// SPDX-License-Identifier: Apache-2.0

// Package quantity formats values with their units for people.
//
// Input: a value in the unit of records and documents ("ms", "share", "1/s", "By", ...).
// Output: text with as many digits as the measurement is exact to, never in scientific
// notation, and without thousands separators, as in the JSON documents.
//
// A measured value has three significant digits, two below 1, and at most three decimals:
// histograms have a relative error of up to 0.5 %. Values below 0.001 are "<0.001": only
// 0 is "0", and only a share of 1 is "100 %". Counts and configured values are exact.
package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// NoData is the text of a missing value.
const NoData = "-"

// Format formats a value with its unit: "36.7 ms", "98.6 %", "50/s", "1.5 GiB".
func Format(v float64, unit string) string {
	if unit == "By" {
		v, unit = scaleBytes(v)
	}
	return Value(v, unit) + suffix(unit)
}

// Value formats a value without its unit, for a column with the unit in its header. A
// share is formatted as a percentage.
func Value(v float64, unit string) string {
	switch unit {
	case "share":
		return percent(100 * v)
	case "ratio":
		return text(v, ratioDecimals(v))
	case "ms", "ms/tx", "sessions":
		if math.Abs(v) >= 1000 {
			v = significant(v, 3)
		}
		return text(v, decimals(v))
	}
	if v == math.Trunc(v) || short(v) {
		return Exact(v)
	}
	return text(v, decimals(v))
}

// short reports whether a value has at most three digits, and so can be shown exactly.
func short(v float64) bool {
	return len(strings.Trim(strings.Replace(Exact(v), ".", "", 1), "-0")) <= 3
}

// Exact formats a configured or counted value without its unit, with up to twelve
// significant digits.
func Exact(v float64) string {
	return text(significant(v, 12), -1)
}

// Limit formats a configured limit with its unit.
func Limit(v float64, unit string) string {
	if unit == "share" {
		v *= 100
	}
	return Exact(v) + suffix(unit)
}

// Near formats a value that is compared with a limit, with its unit. It adds digits until
// the text is on the same side of the limit as the value: 249.8 ms is not "250 ms" if the
// SLO is p(95)<250.
func Near(v, limit float64, unit string) string {
	shown := Value(v, unit)
	if unit == "share" {
		v, limit = 100*v, 100*limit
	}
	_, fraction, _ := strings.Cut(shown, ".")
	for places := len(fraction); places < 12 && !sameSide(shown, v, limit); places++ {
		shown = text(v, places)
	}
	return shown + suffix(unit)
}

func sameSide(shown string, v, limit float64) bool {
	s, err := strconv.ParseFloat(shown, 64)
	return err != nil || (s < limit) == (v < limit) && (s > limit) == (v > limit)
}

// Optional is Format for a value that may be missing.
func Optional(v *float64, unit string) string {
	if v == nil {
		return NoData
	}
	return Format(*v, unit)
}

// OptionalValue is Value for a value that may be missing.
func OptionalValue(v *float64, unit string) string {
	if v == nil {
		return NoData
	}
	return Value(*v, unit)
}

// Count formats a count that may be missing.
func Count(n *int64) string {
	if n == nil {
		return NoData
	}
	return strconv.FormatInt(*n, 10)
}

// Number is a number with its noun, in the plural unless it is 1: "3 calls".
func Number(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Range formats an interval without its unit: "24.6 to 90.3". It is empty if both ends
// are missing.
func Range(lower, upper *float64, unit string) string {
	if lower == nil && upper == nil {
		return ""
	}
	return OptionalValue(lower, unit) + " to " + OptionalValue(upper, unit)
}

// suffix is the text of a unit after its value.
func suffix(unit string) string {
	switch unit {
	case "", "1", "count", "ratio", "sessions":
		return ""
	case "share":
		return " %"
	case "1/s":
		return "/s"
	}
	return " " + unit
}

// smallest is the smallest magnitude that is written out.
const smallest = 0.001

// text formats a value with the given number of decimals; -1: as many as it has.
func text(v float64, decimals int) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return NoData
	case v == 0:
		return "0"
	case decimals >= 0 && math.Abs(v) < smallest:
		if v < 0 {
			return ">-" + Exact(smallest)
		}
		return "<" + Exact(smallest)
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// decimals is the number of decimals that gives a measured value three significant
// digits, or two below 1, and at most three decimals.
func decimals(v float64) int {
	if math.Abs(v) < 1 {
		return min(3, max(2, 1-exponent(v, 2)))
	}
	return max(0, 2-exponent(v, 3))
}

// significant rounds a value to the given number of significant digits.
func significant(v float64, digits int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}

// ratioDecimals is the number of decimals of a ratio: three, as 1.004 is not 1, and fewer
// from 10 on.
func ratioDecimals(v float64) int { return min(3, max(0, 3-exponent(v, 4))) }

// exponent is the decimal exponent of a value rounded to the given significant digits.
func exponent(v float64, digits int) int {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	_, e, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits-1, 64), "e")
	n, _ := strconv.Atoi(e)
	return n
}

// percent formats a percentage. Only 100, up to rounding errors, is "100".
func percent(v float64) string {
	if short(v) && (v == 0 || math.Abs(v) >= smallest) {
		return Exact(v)
	}
	places := decimals(v)
	for shown := text(v, places); ; shown = text(v, places) {
		if at, err := strconv.ParseFloat(shown, 64); err != nil || at != 100 {
			return shown
		}
		places++
	}
}

// scaleBytes converts bytes to the largest binary unit that fits.
func scaleBytes(v float64) (scaled float64, unit string) {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; math.Abs(v) >= 1000 && i < len(units)-1; i++ { // four digits are too many to read
		v /= 1024
	}
	return v, units[i]
}
