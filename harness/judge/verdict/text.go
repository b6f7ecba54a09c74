package verdict

import (
	"fmt"
	"strconv"
	"strings"
)

// some joins the first texts and counts the rest.
func some(texts []string, most int) string {
	if len(texts) <= most {
		return strings.Join(texts, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(texts[:most], "; "), len(texts)-most)
}

// list is "a, b and c".
func list(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

func unitSuffix(unit string) string {
	if unit == "ms" || unit == "s" {
		return " " + unit
	}
	return ""
}

// number writes integers in full and other values with four significant
// digits.
func number(v float64) string {
	switch {
	case v == float64(int64(v)), v >= 1000, v <= -1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func percent(share float64) string { return number(share*100) + " %" }

// number64 is an integer as the number of a rule.
func number64(n *int64) *float64 {
	if n == nil {
		return nil
	}
	return pointer(float64(*n))
}
