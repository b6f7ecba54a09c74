// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"strings"

	"assay.dev/assay/internal/quantity"
)

// joinFirst joins the first n texts and counts the rest.
func joinFirst(texts []string, n int) string {
	if len(texts) <= n {
		return strings.Join(texts, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(texts[:n], "; "), len(texts)-n)
}

// joinAnd is "a, b and c".
func joinAnd(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

func number(v float64) string { return quantity.Value(v, "") }

func percent(share float64) string { return quantity.Format(share, "share") }

// toFloat is nil for nil.
func toFloat(n *int64) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}
