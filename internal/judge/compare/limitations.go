// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/internal/judge/stats/effect"
	"assay.dev/assay/internal/quantity"
)

// limitations are the facts that a reader needs to interpret the ratios.
func (c Comparison) limitations(m *matched) []string {
	all := []string{}
	if what := loadDifference(m.a, m.b); what != "" {
		all = append(all, "A and B ran under different loads, and are compared because --force was given: "+what)
	}
	if sameRuns(m.a, m.b) {
		all = append(all, "A and B are the same runs: this compares them with themselves")
	} else {
		all = append(all, c.orderLimitations(m)...)
	}
	for _, text := range settingDifferences(m.a, m.b) {
		all = append(all, "not the same in all runs: "+text)
	}
	if text := seedDifference(m); text != "" {
		all = append(all, text)
	}
	for _, row := range c.Metrics {
		zeros := func(side, other string, values []*float64, of *float64) {
			if countZeros(values) == len(values) && of != nil && *of > 0 {
				all = append(all, fmt.Sprintf("%s: 0 in every run of %s, but a median of %s in %s, which a ratio cannot show", row.Name, side, quantity.Format(*of, row.Unit), other))
			}
		}
		zeros("A", "B", row.ValuesA, row.B)
		zeros("B", "A", row.ValuesB, row.A)
	}
	all = append(all, c.outlierLimitations()...)
	if text := c.tooFew(); text != "" {
		all = append(all, text)
	}
	return all
}

// orderLimitations are limitations that follow from the order of the runs.
func (c Comparison) orderLimitations(m *matched) (all []string) {
	if !m.pairing.Paired {
		all = append(all, "not paired: any other change between the runs of A and those of B counts as an effect of B; make them in pairs, in an order drawn for each pair")
	} else if order := strings.Fields(m.order); len(order) > 1 && strings.Count(m.order, order[0]) == len(order) {
		all = append(all, fmt.Sprintf("every pair ran in the order %s: drift from run to run counts as an effect of B; draw the order of each pair", order[0]))
	} else if n := period(order); n > 0 {
		all = append(all, fmt.Sprintf("the order of the runs repeats every %d runs (%s): what the machine does with that period counts as an effect of B; draw the order of each pair", 2*n, strings.Join(order[:n], " ")))
	}
	if text := overlapping(m); text != "" {
		all = append(all, text)
	}
	return all
}

// period is the number of pairs after which an order repeats; 0: it does not. An order that
// was drawn looks regular in one comparison of sixteen at most.
func period(order []string) int {
	for n := 2; 2*n <= len(order) && len(order)-n >= 4; n++ {
		if slices.Equal(order[n:], order[:len(order)-n]) {
			return n
		}
	}
	return 0
}

// overlapping names two runs that ran at the same time; empty: none did.
func overlapping(m *matched) string {
	all := slices.Concat(m.a, m.b)
	for i, x := range all {
		for _, y := range all[:i] {
			wx, wy := x.Certificate.Window, y.Certificate.Window
			if wx.Start.Before(wy.End) && wy.Start.Before(wx.End) {
				return fmt.Sprintf("%s and %s ran at the same time, and may have disturbed each other", y.Folder, x.Folder)
			}
		}
	}
	return ""
}

// seedDifference reports different seeds; empty: none. Each pair may have its own seed.
func seedDifference(m *matched) string {
	differ, seeds := 0, map[uint64]bool{}
	for i, r := range slices.Concat(m.a, m.b) {
		seeds[r.Certificate.Environment.Seed] = true
		if m.pairing.Paired && i < len(m.a) && r.Certificate.Environment.Seed != m.b[i].Certificate.Environment.Seed {
			differ++
		}
	}
	switch {
	case m.pairing.Paired && differ > 0:
		return fmt.Sprintf("seeds differ within %d of %s, and so do arrivals and data: use the same --seed for both runs of a pair", differ, count(len(m.a), "pair"))
	case !m.pairing.Paired && len(seeds) > 1:
		return "seeds differ between the runs, and so do arrivals and data: use the same --seed for all"
	}
	return ""
}

// tooFew says how many runs a decision needs; empty: there are enough runs.
func (c Comparison) tooFew() string {
	what, have, least := "runs of each side", min(len(c.A.Runs), len(c.B.Runs)), effect.MinRuns(1)
	if c.Pairing.Paired {
		what, have, least = "pairs", len(c.Pairing.Pairs), effect.MinPairs(1)
	}
	switch {
	case c.Tested == 0 || have >= c.Needed:
		return ""
	case have < least:
		return fmt.Sprintf("too few runs to decide anything: it takes %d %s, and %d for \"changed\" with %s tested together", least, what, c.Needed, count(c.Tested, "metric"))
	}
	return fmt.Sprintf("\"changed\" takes %d %s with %s tested together: make more runs, or choose fewer metrics beforehand with --metrics", c.Needed, what, count(c.Tested, "metric"))
}
