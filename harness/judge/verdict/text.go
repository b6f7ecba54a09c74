package verdict

import (
	"fmt"
	"strings"

	"assay/harness/quantity"
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

func number(v float64) string { return quantity.Value(v, "") }

func percent(share float64) string { return quantity.Format(share, "share") }

// number64 is an integer as the number of a rule.
func number64(n *int64) *float64 {
	if n == nil {
		return nil
	}
	return pointer(float64(*n))
}
