package stats

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"assay.dev/assay/internal/judge/stats/source"
	"assay.dev/assay/internal/testing/calibration"
)

// TestSpikeCalibration simulates an event: a quiet window with a tenth of the
// violations that p95 allows, then a spike at three times the rate with more than it
// allows. Together they are within the limit; the spike alone is not.
func TestSpikeCalibration(t *testing.T) {
	const (
		q, rate = 0.05, 100.0
		calm    = q / 10
	)
	quiet := source.OnOff("bursty", 5, 0.1, 6)
	var rows []calibration.Row
	for _, tt := range []struct{ quiet, spike, share float64 }{
		{600, 30, 0.12}, {3600, 30, 0.12}, {600, 60, 0.12}, {3600, 60, 0.12}, {600, 30, q}, {600, 60, q}, {600, 60, q / 2},
	} {
		const runs = 300
		l := load{rate, tt.quiet, runs, runs}
		if !*whole && !*update {
			l.runs = 10
		}
		pooled, within, both, failed, lock := 0, 0, 0, 0, sync.Mutex{}
		each(l.runs, func(run int) {
			rng := rand.New(rand.NewPCG(uint64(run), uint64(tt.quiet)))
			all := simulate(quiet, rate, tt.quiet, []float64{quiet.Limit(calm, rate)}, rng).violations(0)
			spike := simulate(quiet, 3*rate, tt.spike, []float64{quiet.Limit(tt.share, 3*rate)}, rng).violations(0)
			for i := range spike {
				spike[i].Stratum = 1
			}
			of := Sum(spike)
			pool := Test{Q: q, Alpha: Alpha}.Infer(append(all, spike...), nil).Outcome == Holds
			kept := int64(of.K) <= Allowed(q, int64(of.N))
			fails := Count(q, int64(of.N), int64(of.K)) == Broken
			lock.Lock()
			defer lock.Unlock()
			for n, is := range map[*int]bool{&pooled: pool, &within: kept, &both: pool && kept, &failed: fails} {
				if is {
					*n++
				}
			}
		})
		rows = append(rows, l.row(fmt.Sprintf("| %g s, then %g s with %.3g %% |", tt.quiet, tt.spike, 100*tt.share),
			fmt.Sprintf(" %s | %s | %s | %s |", l.percent(pooled), l.percent(within), l.percent(both), l.percent(failed))))
		if tt.share > q && (both > 0 || float64(failed) < 0.5*float64(l.runs)) {
			t.Errorf("%g s, then %g s with %g over a p95: %d of %d runs PASS, %d FAIL", tt.quiet, tt.spike, tt.share, both, l.runs, failed)
		}
		if share := float64(pooled) / float64(l.runs); tt.share == q && share > l.most() {
			t.Errorf("%g s, then %g s at the limit: %g of the runs hold", tt.quiet, tt.spike, share)
		}
		if tt.spike < MinSeconds && pooled > 0 {
			t.Errorf("a window of %g s: %d of %d runs are inferred", tt.spike, pooled, l.runs)
		}
	}
	compare(t, map[string][]calibration.Row{"spike": rows})
}
