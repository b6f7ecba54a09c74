package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay.dev/assay/internal/judge/stats/source"
	"assay.dev/assay/internal/testing/calibration"
)

// TestPower simulates healthy systems on a machine whose jitter comes in bursts: a smoke
// must PASS on either basis, and a certificate at 95 % confidence.
func TestPower(t *testing.T) {
	var rows []calibration.Row
	for _, bursts := range []float64{0, 1, 0.2} {
		for _, l := range sized(loads) {
			name := ""
			var cells []string
			for _, q := range shares {
				s := source.Jitter(q, bursts)
				name = s.Name
				var limits, effects []float64
				for _, part := range few {
					limits = append(limits, s.Limit(part*q, l.rate))
				}
				all, lock := make([]tally, len(few)), sync.Mutex{}
				either := make([]int, len(few))
				each(l.runs, func(run int) {
					x := simulate(s, l.rate, l.seconds, limits, rand.New(rand.NewPCG(uint64(run), uint64(l.rate*l.seconds))))
					effect, _, _ := varianceRatio(batches(jitterOf(x, 0), Batches))
					lock.Lock()
					defer lock.Unlock()
					effects = append(effects, effect)
					for i := range few {
						var one tally
						one.judge(x, i, Test{Q: q, Alpha: Alpha})
						all[i].add(one)
						either[i] += max(one.holds, one.countHolds)
					}
				})
				slices.Sort(effects)
				checkPower(t, s.Name, l, q, bursts, either[0], all[0].holds)
				cells = append(cells, fmt.Sprintf("%.0f | %s %s | %s %s", effects[len(effects)/2],
					l.percent(either[0]), l.percent(either[1]), l.percent(all[0].holds), l.percent(all[1].holds)))
			}
			rows = append(rows, l.row(fmt.Sprintf("| %s | %s |", name, l), " "+strings.Join(cells, " | ")+" |"))
		}
	}
	compare(t, map[string][]calibration.Row{"power": rows})
}

// checkPower checks the claim at a tenth of the allowed violations: 99 % of the smokes
// of p95 and p99 hold on either basis, and 95 % of the certificates are inferred.
// Where the tail is in few of the bursts nothing is claimed.
func checkPower(t *testing.T, name string, l load, q, bursts float64, either, inferred int) {
	t.Helper()
	if q < 0.01 || bursts > 0 && bursts < 1 {
		return
	}
	what, n, least := "on either basis", either, 0.99
	if l.seconds >= 600 {
		what, n, least = "at 95 % confidence", inferred, 0.95
	}
	if !*whole && !*update {
		least -= 4 * math.Sqrt(least*(1-least)/float64(l.runs))
	}
	if share := float64(n) / float64(l.runs); share < least {
		t.Errorf("%s, %g/s in %g s: p%g holds %s in %g of the runs", name, l.rate, l.seconds, 100*(1-q), what, share)
	}
}

// jitterOf counts in each second the largest samples under a limit, about Reference in
// all.
func jitterOf(x *series, limit int) []Second {
	over := x.violations(limit)
	all := slices.Clone(x.countLargest(Sum(over).K + Reference))
	for i := range all {
		all[i].K = max(0, all[i].K-over[i].K)
	}
	return all
}
