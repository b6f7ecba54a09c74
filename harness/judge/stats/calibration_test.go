package stats

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"assay/harness/judge/stats/source"
)

var (
	whole  = flag.Bool("calibrate", false, "make all runs of the calibration, and compare docs/calibration.md")
	update = flag.Bool("update", false, "make all runs of the calibration, and write docs/calibration.md")
)

// load is the size of a simulated window.
type load struct {
	rate, seconds float64
	runs          int
}

// Smokes of a minute and certificates of ten.
var loads = []load{{50, 60, 1000}, {100, 60, 1000}, {1000, 60, 1000}, {100, 600, 600}, {1000, 600, 300}}

// sized takes a tenth of the runs, and a thirtieth of the longest, unless -calibrate
// is set.
func (l load) sized() load {
	switch {
	case *whole || *update:
	case l.rate*l.seconds >= 500_000:
		l.runs /= 30
	default:
		l.runs /= 10
	}
	return l
}

var (
	shares = []float64{0.05, 0.01, 0.001}      // q of p95, p99, p99.9
	parts  = []float64{1, 0.8, 0.5, 0.1, 0.03} // of q: the true share of violations
	few    = []float64{0.1, 0.03}              // the same of a healthy system
)

// Sources of the calibration. AR(1) of 10 and 30 s must not be LongEnough.
func stationary() []source.Source {
	return []source.Source{
		source.MM1(0.5), source.MM1(0.8), source.MM1(0.9), source.MMC(8, 0.8),
		source.Lognormal(0.6, 1), source.Pareto(0.5, 2.5),
		source.OnOff("bursty", 5, 0.1, 6),
		source.OnOff("on-off, 3 s", 3, 0.2, 4), source.OnOff("on-off, 10 s", 10, 0.2, 4), source.OnOff("on-off, 20 s", 20, 0.2, 4),
		source.Modulated(2, 0.5), source.Modulated(10, 0.5), source.Modulated(30, 0.5),
		source.Modulated(2, 1), source.Modulated(10, 1), source.Modulated(30, 1),
		source.Stalling(7), source.Stalling(25), source.Stalling(45),
		source.Drifting("slower by 30 %, steadily", func(x float64) float64 { return 1 + 0.3*x }),
	}
}

// tally counts runs by result.
type tally struct {
	longEnough, holds, broken, countHolds, countBroken int
}

func (t *tally) judge(s *series, limit int, test Test) {
	violations := s.violations(limit)
	total := Sum(violations)
	i := test.Infer(violations, s.above)
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

// calibrate makes all runs, each from a seed of its own.
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

// each does all runs on all processors.
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

// most is the largest share of runs with a false result of a system at its limit: 5 %
// of all; in a tenth of the runs, four deviations more.
func (l load) most() float64 {
	if *whole || *update {
		return 1 - Confidence
	}
	return 1 - Confidence + 4*math.Sqrt((1-Confidence)*Confidence/float64(l.runs))
}

func (l load) percent(n int) string { return fmt.Sprintf("%.1f", 100*float64(n)/float64(l.runs)) }

// TestCalibration simulates systems whose percentile is exactly at its limit, and
// checks results at 95 % confidence against them.
func TestCalibration(t *testing.T) {
	var inferred, counted strings.Builder
	for _, s := range stationary() {
		for _, l := range loads {
			l = l.sized()
			r := calibrate(s, l, parts)
			fmt.Fprintf(&inferred, "| %s | %g/s, %g s |", s.Name, l.rate, l.seconds)
			fmt.Fprintf(&counted, "| %s | %g/s, %g s |", s.Name, l.rate, l.seconds)
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
			inferred.WriteString("\n")
			counted.WriteString("\n")
		}
	}
	compare(t, map[string]string{"inferred": inferred.String(), "counted": counted.String()})
}

// calibrationTable is docs/calibration.md, written with -update.
const calibrationTable = "../../../docs/calibration.md"

// compare writes tables into the page, or compares it with them; with a tenth of the
// runs it does neither.
func compare(t *testing.T, tables map[string]string) {
	t.Helper()
	if !*whole && !*update {
		return
	}
	for name, rows := range tables {
		t.Logf("%s\n%s", name, rows)
	}
	page, err := os.ReadFile(calibrationTable)
	if err != nil {
		t.Fatal(err)
	}
	want := string(page)
	for name, rows := range tables {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		head, rest, found := strings.Cut(want, begin)
		_, tail, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("%s has no place for %s", calibrationTable, name)
		}
		lines := strings.SplitAfter(rest, "\n")
		want = head + begin + lines[0] + lines[1] + rows + end + tail // the table's two head lines stay
	}
	if *update {
		if err := os.WriteFile(calibrationTable, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("%s differs from the simulation: make calibrate CALIBRATEFLAGS=-update writes it", calibrationTable)
	}
}
