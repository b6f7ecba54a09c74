package stats

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"assay.dev/assay/internal/judge/stats/source"
	"assay.dev/assay/internal/testing/calibration"
)

var (
	whole  = flag.Bool("calibrate", false, "make all runs of the calibration, and compare docs/calibration.md")
	update = flag.Bool("update", false, "make all runs of the calibration, and write docs/calibration.md")
)

// load is the size of a simulated window.
type load struct {
	rate, seconds float64
	runs          int
	of            int // runs behind the row of docs/calibration.md
}

func (l load) String() string { return fmt.Sprintf("%g/s, %g s", l.rate, l.seconds) }

// row is a row of docs/calibration.md; cells begin with a space.
func (l load) row(label, cells string) calibration.Row {
	return calibration.Row{Label: label, Cells: cells, Runs: l.runs, Of: l.of}
}

// Smokes of a minute and certificates of ten.
var loads = []load{{50, 60, 1000, 1000}, {100, 60, 1000, 1000}, {1000, 60, 1000, 1000}, {100, 600, 600, 600}, {1000, 600, 300, 300}}

// sized are all loads with -calibrate, else those of which a run is short, each with the
// first of its runs: as many as have 250,000 samples, at most 20. Each share of them, and
// each column, is compared with the table.
func sized(all []load) (few []load) {
	if *whole || *update {
		return all
	}
	const most, samples = 20, 250_000
	for _, l := range all {
		if l.runs = min(most, samples/int(l.rate*l.seconds)); l.runs > 0 {
			few = append(few, l)
		}
	}
	return few
}

var (
	shares = []float64{0.05, 0.01, 0.001}      // q of p95, p99, p99.9
	parts  = []float64{1, 0.8, 0.5, 0.1, 0.03} // true shares of violations, as parts of q
	few    = []float64{0.1, 0.03}              // the same of a healthy system
)

// heavyTailed is a source whose limits take long to compute.
var heavyTailed = source.Pareto(0.5, 2.5)

// Sources of the calibration.
var stationary = sync.OnceValue(func() []source.Source {
	return []source.Source{
		source.MM1(0.5), source.MM1(0.8), source.MM1(0.9), source.MMC(8, 0.8),
		source.Lognormal(0.6, 1), heavyTailed,
		source.OnOff("bursty", 5, 0.1, 6),
		source.OnOff("on-off, 3 s", 3, 0.2, 4), source.OnOff("on-off, 10 s", 10, 0.2, 4), source.OnOff("on-off, 20 s", 20, 0.2, 4),
		source.Modulated(2, 0.5), source.Modulated(10, 0.5), source.Modulated(30, 0.5),
		source.Modulated(2, 1), source.Modulated(10, 1), source.Modulated(30, 1),
		source.LongMemory(0.8, 0.2), source.LongMemory(0.8, 0.4), source.LongMemory(0.9, 0.2), source.Superposed(1.4),
		source.Stalling(7), source.Stalling(25), source.Stalling(45),
		source.Drifting("slower by 30 %, steadily", func(x float64) float64 { return 1 + 0.3*x }),
	}
})

// tally counts runs by result.
type tally struct {
	longEnough, holds, broken, countHolds, countBroken int
}

func (t *tally) judge(s *series, limit int, test Test) {
	violations := s.violations(limit)
	total := Sum(violations)
	i := test.Infer(violations, s.countLargest)
	if i.LongEnough {
		t.longEnough++
	}
	switch i.Outcome {
	case Holds:
		t.holds++
	case Broken:
		t.broken++
	}
	switch Count(test.Q, int64(total.N), int64(total.K)) {
	case Holds:
		t.countHolds++
	case Broken:
		t.countBroken++
	}
}

func (t *tally) add(o tally) {
	t.longEnough += o.longEnough
	t.holds += o.holds
	t.broken += o.broken
	t.countHolds += o.countHolds
	t.countBroken += o.countBroken
}

// row is one source under one load, by share and part.
type row [][]tally

func newRow(parts []float64) row {
	r := make(row, len(shares))
	for i := range r {
		r[i] = make([]tally, len(parts))
	}
	return r
}

// calibrate simulates all runs, each with its own seed.
func calibrate(s source.Source, l load, parts []float64) row {
	var limits []float64
	for _, q := range shares {
		for _, part := range parts {
			limits = append(limits, s.Limit(part*q, l.rate))
		}
	}
	total, lock := newRow(parts), sync.Mutex{}
	each(l.runs, func(run int) {
		x := simulate(s, l.rate, l.seconds, limits, rand.New(rand.NewPCG(uint64(run), uint64(l.rate*l.seconds))))
		one := newRow(parts)
		for i, q := range shares {
			for j := range parts {
				one[i][j].judge(x, i*len(parts)+j, Test{Q: q, Alpha: Alpha})
			}
		}
		lock.Lock()
		defer lock.Unlock()
		for i := range one {
			for j, t := range one[i] {
				total[i][j].add(t)
			}
		}
	})
	return total
}

// each simulates the runs in parallel.
func each(runs int, do func(run int)) {
	workers := runtime.GOMAXPROCS(0)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for run := w; run < runs; run += workers {
				do(run)
			}
		})
	}
	wait.Wait()
}

// most is the largest accepted share of false results for a system at its limit: 5 % of
// all runs; four standard deviations more for a sample of them.
func (l load) most() float64 {
	if *whole || *update {
		return 1 - Confidence
	}
	return 1 - Confidence + 4*math.Sqrt((1-Confidence)*Confidence/float64(l.runs))
}

// least is the smallest accepted share of certificates that hold for a system with a tenth of the
// allowed violations: 95 % of all runs; four standard deviations less for a sample of them.
func (l load) least() float64 {
	if *whole || *update {
		return 0.95
	}
	return 0.95 - 4*math.Sqrt(0.95*0.05/float64(l.runs))
}

// chance is by how many runs two counts may differ by chance: four standard deviations.
func (l load) chance() int { return int(4 * math.Sqrt(float64(l.runs)/2)) }

func (l load) percent(n int) string { return fmt.Sprintf("%.1f", 100*float64(n)/float64(l.runs)) }

// TestCalibration simulates systems whose percentile is exactly at its limit, and checks
// how many results at 95 % confidence are false.
func TestCalibration(t *testing.T) {
	var inferredRows, countedRows []calibration.Row
	for _, s := range stationary() {
		for _, l := range sized(loads) {
			r := calibrate(s, l, parts)
			label := fmt.Sprintf("| %s | %s |", s.Name, l)
			var inferred, counted strings.Builder
			for i, q := range shares {
				limit := r[i][0]
				fmt.Fprintf(&inferred, " %.0f | %s, %s |", 100*float64(limit.longEnough)/float64(l.runs), l.percent(limit.holds), l.percent(limit.broken))
				fmt.Fprintf(&counted, " %s, %s |", l.percent(limit.countHolds), l.percent(limit.countBroken))
				for _, part := range r[i][1:] {
					inferred.WriteString(" " + l.percent(part.holds))
					counted.WriteString(" " + l.percent(part.countHolds))
				}
				inferred.WriteString(" |")
				counted.WriteString(" |")
				for what, n := range map[string]int{"hold": limit.holds, "are broken": limit.broken} {
					if share := float64(n) / float64(l.runs); share > l.most() {
						t.Errorf("%s, %g/s in %g s: %g of the runs %s with p%g at its limit", s.Name, l.rate, l.seconds, share, what, 100*(1-q))
					}
				}
			}
			inferredRows = append(inferredRows, l.row(label, inferred.String()))
			countedRows = append(countedRows, l.row(label, counted.String()))
		}
	}
	compare(t, map[string][]calibration.Row{"inferred": inferredRows, "counted": countedRows})
}

// calibrationTable is docs/calibration.md, written with -update.
const calibrationTable = "../../../docs/calibration.md"

// compare compares tables with docs/calibration.md, or writes them there.
func compare(t *testing.T, tables map[string][]calibration.Row) {
	t.Helper()
	mode := calibration.Sample
	switch {
	case *update:
		mode = calibration.Update
	case *whole:
		mode = calibration.Whole
	}
	calibration.Compare(t, calibrationTable, mode, tables)
}
