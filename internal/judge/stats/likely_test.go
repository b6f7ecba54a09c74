package stats

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"assay.dev/assay/internal/testing/calibration"
)

// A run that is too short for inference detects a share well over the limit, of samples
// that are not too correlated; never a share at the limit or below.
func TestLikelyBroken(t *testing.T) {
	p95 := Test{Q: 0.05, Alpha: Alpha}
	for _, c := range []struct {
		n, k, deff float64
		want       bool
	}{
		{6000, 300, 1, false}, // at the limit
		{6000, 150, 1, false},
		{6000, 550, 1, true},
		{6000, 550, 5, true},
		{6000, 550, 50, false}, // a handful of bursts
		{100, 9, 1, false},
		{0, 0, 1, false},
	} {
		i := Inference{DesignEffect: c.deff, Memory: 1, Effective: c.n / c.deff}
		if got := p95.LikelyBroken(Batch{N: c.n, K: c.k}, i); got != c.want {
			t.Errorf("%g of %g with a design effect of %g: %t", c.k, c.n, c.deff, got)
		}
	}
	if p95.LikelyBroken(Batch{N: 6000, K: 5000}, Inference{}) {
		t.Error("the design effect is not known, and it is broken")
	}
	if (Test{Q: 0, Alpha: Alpha}).LikelyBroken(Batch{N: 100, K: 50}, Inference{DesignEffect: 1, Effective: 100}) {
		t.Error("a bound of 0 has no share to test")
	}
}

// TestLikelyBrokenCalibration simulates systems exactly at their limit, and counts the
// runs that FAIL, falsely, only by LikelyBroken.
func TestLikelyBrokenCalibration(t *testing.T) {
	var rows []calibration.Row
	for _, s := range stationary() {
		for _, l := range sized(loads[:4]) { // a certificate at 1,000/s is seldom close to a limit
			var limits []float64
			for _, q := range shares {
				limits = append(limits, s.Limit(q, l.rate))
			}
			failed, lock := make([]int, len(shares)), sync.Mutex{}
			each(l.runs, func(run int) {
				x := simulate(s, l.rate, l.seconds, limits, rand.New(rand.NewPCG(uint64(run), uint64(l.rate*l.seconds))))
				for i, q := range shares {
					test, violations := Test{Q: q, Alpha: Alpha}, x.violations(i)
					total, inferred := Sum(violations), test.Infer(violations, x.countLargest)
					if Count(q, int64(total.N), int64(total.K)) == Undecided && inferred.Outcome != Broken &&
						int64(total.K) > Allowed(q, int64(total.N)) && test.LikelyBroken(total, inferred) {
						lock.Lock()
						failed[i]++
						lock.Unlock()
					}
				}
			})
			var cells strings.Builder
			for i, n := range failed {
				fmt.Fprintf(&cells, " %s |", l.percent(n))
				if share := float64(n) / float64(l.runs); share > l.most() {
					t.Errorf("%s, %g/s in %g s: %g of the runs are likely broken with p%g at its limit", s.Name, l.rate, l.seconds, share, 100*(1-shares[i]))
				}
			}
			rows = append(rows, l.row(fmt.Sprintf("| %s | %s |", s.Name, l), cells.String()))
		}
	}
	compare(t, map[string][]calibration.Row{"likely broken": rows})
}
