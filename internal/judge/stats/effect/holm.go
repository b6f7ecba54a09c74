// SPDX-License-Identifier: Apache-2.0

package effect

import (
	"cmp"
	"slices"
)

// Holm adjusts the p-values of several tests, so that at any level the probability of a
// false rejection among them is at most that level, however the tests depend on each other
// (Holm, A simple sequentially rejective multiple test procedure,
// Scandinavian Journal of Statistics 6, 1979). In ascending order
//
//	p'(i) = max over j <= i of min(1, (k - j + 1) p(j)),   k values
//
// nil is "not tested": it remains nil and does not count.
func Holm(ps []*float64) []*float64 {
	var order []int
	for i, p := range ps {
		if p != nil {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(*ps[i], *ps[j]) })
	adjusted, highest := make([]*float64, len(ps)), 0.0
	for j, i := range order {
		highest = max(highest, min(1, float64(len(order)-j)**ps[i]))
		v := highest
		adjusted[i] = &v
	}
	return adjusted
}
