package verdict

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/judge/stats/source"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/calibration"
)

var (
	whole  = flag.Bool("calibrate", false, "make all runs of the calibration, and compare docs/calibration.md")
	update = flag.Bool("update", false, "make all runs of the calibration, and write docs/calibration.md anew")
)

// load is the size of a simulated window.
type load struct{ rate, seconds float64 }

var steadyLoads = []load{{50, 60}, {100, 60}, {1000, 60}, {100, 600}}

// Shapes of latency over a window that the rule steady must detect.
var drifts = []source.Source{
	source.Drifting("slower by 30 %, steadily", func(x float64) float64 { return 1 + 0.3*x }),
	source.Drifting("slower by half, steadily", func(x float64) float64 { return 1 + 0.5*x }),
	source.Drifting("slower by half, at once in the middle", func(x float64) float64 { return 1 + 0.5*math.Floor(2*x) }),
	source.Drifting("slower and slower from the middle on, to twice", func(x float64) float64 { return 1 + max(0, 2*x-1) }),
}

// drifted counts the runs of a source in which the rule steady detects a drift.
func drifted(s source.Source, l load, runs int) (n int) {
	workers, lock := runtime.GOMAXPROCS(0), sync.Mutex{}
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for run := w; run < runs; run += workers {
				if driftsIn(s, l, uint64(run)) {
					lock.Lock()
					n++
					lock.Unlock()
				}
			}
		})
	}
	wait.Wait()
	return n
}

// driftsIn simulates one run and applies the rule's test.
func driftsIn(s source.Source, l load, seed uint64) bool {
	hists := make([]metric.Hist, len(batches(record.Span{From: 0, To: int64(l.seconds)})))
	per := l.seconds / float64(len(hists))
	s.Run(rand.New(rand.NewPCG(seed, uint64(l.rate*l.seconds))), l.rate, l.seconds, func(at, latency float64) {
		hists[min(int(at/per), len(hists)-1)].Record(latency, 1)
	})
	var medians, means []float64
	for i := range hists {
		median, _ := hists[i].Quantile(0.5)
		mean, _ := hists[i].Mean()
		medians, means = append(medians, median), append(means, mean)
	}
	return slices.ContainsFunc(append(relativeTrends("median", medians), relativeTrends("mean", means)...), trend.drifts)
}

// calibrationTable is docs/calibration.md, a part of which is written with
// -update; the rest is package stats'.
const calibrationTable = "../../../docs/calibration.md"

// TestSteadyCalibration simulates systems that drift, which the rule steady must
// detect, and some that do not.
func TestSteadyCalibration(t *testing.T) { calibrateSteady(t, 5) }

// calibrateSteady simulates so many runs of each system and load, or all.
func calibrateSteady(t *testing.T, runs int) {
	t.Helper()
	const allRuns = 300
	all := *whole || *update
	if all {
		runs = allRuns
	}
	var rows []calibration.Row
	row := func(s source.Source) (shares []float64) {
		var cells strings.Builder
		for _, l := range steadyLoads {
			shares = append(shares, float64(drifted(s, l, runs))/float64(runs))
			fmt.Fprintf(&cells, " %.1f |", 100*shares[len(shares)-1])
		}
		rows = append(rows, calibration.Row{Label: fmt.Sprintf("| %s |", s.Name), Cells: cells.String(), Runs: runs, Of: allRuns})
		return shares
	}
	chance := 0.0 // what a few runs may be off by, in four deviations
	if !all {
		chance = 4 * math.Sqrt((1-stats.Confidence)*stats.Confidence/float64(runs))
	}
	for i, s := range drifts {
		// Detecting a drift of 30 % needs more than a short run at a low rate.
		for j, caught := range row(s) {
			if (i > 0 || j > 1) && caught < 0.9-chance {
				t.Errorf("%s, load %d: the rule steady catches %g of the runs", s.Name, j, caught)
			}
		}
	}
	for _, s := range []source.Source{source.MM1(0.5), source.MM1(0.8), source.MM1(0.9), source.OnOff("bursty", 5, 0.1, 6)} {
		for j, caught := range row(s) {
			if caught > 1-stats.Confidence+chance {
				t.Errorf("%s, load %d: the rule steady sees a drift in %g of the runs", s.Name, j, caught)
			}
		}
	}
	mode := calibration.Sample
	switch {
	case *update:
		mode = calibration.Update
	case *whole:
		mode = calibration.Whole
	}
	calibration.Compare(t, calibrationTable, mode, map[string][]calibration.Row{"steady": rows})
}
