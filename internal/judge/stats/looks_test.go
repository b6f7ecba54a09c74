package stats

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"assay.dev/assay/internal/judge/stats/source"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/calibration"
)

func TestLooksSpendAlpha(t *testing.T) {
	for looks := Looks(1); looks <= MaxLooks; looks++ {
		spent := 0.0
		for j := 1; j <= int(looks); j++ {
			spent += looks.Alpha(j)
		}
		if !near(spent, Alpha, 1e-12) {
			t.Errorf("%d looks spend %g", looks, spent)
		}
		if looks.Alpha(0) != 0 || looks.Alpha(int(looks)+1) != 0 {
			t.Errorf("%d looks have a level for another", looks)
		}
	}
	if Looks(MaxLooks+1).Alpha(1) != 0 {
		t.Error("more looks than were calibrated have a level")
	}
}

// Ten minutes, and up to thirty more.
var longLoads = []load{{100, 600, 400, 400}, {1000, 600, 100, 100}}

// Certificates at a rate at which p99 can be decided in ten minutes.
var pauseLoads = []load{{200, 600, 200, 200}}

// grown are the seconds of a run at each look.
func grown(x *series, hold float64) (at []*series) {
	for j := 1; j*int(hold) <= len(x.n); j++ {
		at = append(at, x.until(j*int(hold)))
	}
	return at
}

// decide judges a run at each look.
func decide(at []*series, limit int, q float64) Outcome {
	for j, x := range at {
		test := Test{Q: q, Alpha: Looks(len(at)).Alpha(j + 1)}
		if i := test.Infer(x.violations(limit), x.countLargest); i.Outcome != Undecided {
			return i.Outcome
		}
	}
	return Undecided
}

// TestLooksCalibration simulates runs that continue until they are decided.
func TestLooksCalibration(t *testing.T) {
	var rows []calibration.Row
	at := []float64{1, 0.8, 0.5, 0.1}
	for _, s := range []source.Source{
		source.MM1(0.8), source.MM1(0.9), source.MMC(8, 0.8), heavyTailed,
		source.OnOff("on-off, 3 s", 3, 0.2, 4), source.Modulated(2, 0.5), source.Modulated(10, 0.5),
		source.LongMemory(0.8, 0.2), source.LongMemory(0.9, 0.2), source.Superposed(1.4),
	} {
		for _, l := range sized(longLoads) {
			var limits []float64
			for _, q := range shares {
				for _, part := range at {
					limits = append(limits, s.Limit(part*q, l.rate))
				}
			}
			holds, broken, lock := make([]int, len(limits)), make([]int, len(limits)), sync.Mutex{}
			each(l.runs, func(run int) {
				x := simulate(s, l.rate, MaxLooks*l.seconds, limits, rand.New(rand.NewPCG(uint64(run), 7)))
				looks := grown(x, l.seconds)
				for i := range limits {
					outcome := decide(looks, i, shares[i/len(at)])
					lock.Lock()
					switch outcome {
					case Holds:
						holds[i]++
					case Broken:
						broken[i]++
					}
					lock.Unlock()
				}
			})
			var cells strings.Builder
			for i := range limits {
				if i%len(at) > 0 {
					fmt.Fprintf(&cells, " %s |", l.percent(holds[i]))
					continue
				}
				fmt.Fprintf(&cells, " %s, %s |", l.percent(holds[i]), l.percent(broken[i]))
				for what, n := range map[string]int{"hold": holds[i], "are broken": broken[i]} {
					if share := float64(n) / float64(l.runs); share > l.most() {
						t.Errorf("%s, %g/s, up to %d looks: %g of the runs %s with p%g at its limit", s.Name, l.rate, MaxLooks, share, what, 100*(1-shares[i/len(at)]))
					}
				}
			}
			for i := range shares { // fewer violations never worsen a verdict
				half, tenth := holds[i*len(at)+2], holds[i*len(at)+3]
				if tenth < half-l.chance() {
					t.Errorf("%s, %g/s: %d runs hold with half of the violations of p%g, %d with a tenth", s.Name, l.rate, half, 100*(1-shares[i]), tenth)
				}
			}
			rows = append(rows, l.row(fmt.Sprintf("| %s | %g/s |", s.Name, l.rate), cells.String()))
		}
	}
	compare(t, map[string][]calibration.Row{"looks": rows})
}

// TestPausesCalibration simulates certificates, of up to three holds, of systems that pause: a garbage
// collection every 30 s, failovers, a single hiccup. At their limit few may hold, unless pauses come
// so rarely that the claim is not about them; at a tenth of it nearly all must.
func TestPausesCalibration(t *testing.T) {
	var rows []calibration.Row
	at := []float64{1, 0.5, 0.1}
	for _, kind := range []struct {
		period  float64
		regular bool
	}{{30, true}, {30, false}, {60, false}, {120, false}, {200, true}, {600, true}, {600, false}} {
		for _, l := range sized(pauseLoads) {
			var cells strings.Builder
			for _, q := range shares {
				var holds, broken [3]int
				for i, part := range at {
					s, lock := source.Pauses(part*q, kind.period, kind.regular), sync.Mutex{}
					each(l.runs, func(run int) {
						x := simulate(s, l.rate, spec.DefaultHolds*l.seconds, []float64{source.PauseLimit}, rand.New(rand.NewPCG(uint64(run), 8)))
						outcome := decide(grown(x, l.seconds), 0, q)
						lock.Lock()
						defer lock.Unlock()
						switch outcome {
						case Holds:
							holds[i]++
						case Broken:
							broken[i]++
						}
					})
				}
				fmt.Fprintf(&cells, " %s, %s | %s | %s |", l.percent(holds[0]), l.percent(broken[0]), l.percent(holds[1]), l.percent(holds[2]))
				visible := kind.regular || kind.period <= l.seconds/5
				if share := float64(holds[0]) / float64(l.runs); visible && share > l.most() {
					t.Errorf("a pause every %g s, %g/s: %g of the runs hold with p%g at its limit", kind.period, l.rate, share, 100*(1-q))
				}
				if share := float64(holds[2]) / float64(l.runs); visible && q >= 0.01 && share < l.least() {
					t.Errorf("a pause every %g s, %g/s: only %g of the runs hold with a tenth of the violations of p%g", kind.period, l.rate, share, 100*(1-q))
				}
				if holds[2] < holds[1]-l.chance() {
					t.Errorf("a pause every %g s, %g/s: %d runs hold with half of the violations of p%g, %d with a tenth", kind.period, l.rate, holds[1], 100*(1-q), holds[2])
				}
			}
			name := fmt.Sprintf("at random, every %g s", kind.period)
			if kind.regular {
				name = fmt.Sprintf("every %g s", kind.period)
			}
			rows = append(rows, l.row(fmt.Sprintf("| %s | %g/s |", name, l.rate), cells.String()))
		}
	}
	compare(t, map[string][]calibration.Row{"pauses": rows})
}
