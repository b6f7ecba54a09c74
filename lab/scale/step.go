package scale

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/rulebook"
)

// Step is the result of one step.
type Step struct {
	Variant string `json:"variant"`
	Point
	Round   int       `json:"round" jsonschema:"minimum=1"`
	Run     string    `json:"run"`
	Folder  string    `json:"folder"` // relative to the document
	Started time.Time `json:"started"`
	Seconds int64     `json:"seconds"` // measured

	// The figures of the transactions that began in these seconds.
	TPS          float64  `json:"tps"`           // completed per second
	P95          *float64 `json:"p95_ms"`        // p95 of all transactions that ended; null: none did
	Mean         *float64 `json:"mean_ms"`       // likewise
	NotCompleted int64    `json:"not_completed"` // failed, timed out or dropped
	// Errors are those of statements, requests and transactions that the generator noticed
	// in the whole step, by class, retried ones included; empty: none.
	Errors map[string]int64 `json:"errors,omitempty"`
	// Waits are the mean active sessions of the database by class; null: not sampled, empty:
	// none was active.
	Waits map[string]float64 `json:"waits"`

	// Counts over the whole step; null: not compared.
	Missing    *int64 `json:"missing"`
	Duplicated *int64 `json:"duplicated"`
	// Violated are the invariants that do not hold, or were not checked.
	Violated []string `json:"violated,omitempty"`

	GeneratorCPU *float64 `json:"generator_cpu_share"` // CPU share of the busiest worker, [0,1]; null: not known

	Broken string `json:"broken,omitempty"` // why the step counts for nothing; empty: it counts
}

// needed are the validity rules without which a step shows nothing; others, such as
// open-loop, do not apply to it.
var needed = []string{rulebook.WorkerLost, rulebook.Frames, rulebook.Accounted, rulebook.GeneratorDrops, rulebook.Offered}

// StepOf reads the result of a step from its record and the verdict on it.
func StepOf(variant string, c Cell, r record.Run, v verdict.Verdict, folder string) Step {
	s := Step{
		Variant: variant, Point: c.Point, Round: c.Round + 1, Run: r.Plan.Run, Folder: folder,
		Started: r.Facts.T0.UTC().Truncate(time.Second),
	}
	for _, w := range r.Plan.Load.Judged {
		span := record.SpanOf(r.Facts.T0, w)
		s.Seconds += span.Seconds()
		for _, outcome := range metric.Outcomes {
			n, _ := r.Timeline.Sum(metric.Transactions, metric.NewSeries("", "", "outcome", outcome).Labels, span)
			if outcome == metric.Completed {
				s.TPS += n
			} else {
				s.NotCompleted += int64(n)
			}
		}
	}
	if s.Seconds > 0 {
		s.TPS /= float64(s.Seconds)
	}
	s.latency(r)
	s.Errors = errorsOf(r.Timeline)
	waits := build.Certificate(r, v).Waits
	if samples, _ := r.Timeline.Sum(metric.DBSample, nil, record.All); samples > 0 || len(waits) > 0 {
		s.Waits = map[string]float64{}
	}
	for _, w := range waits {
		s.Waits[w.Class] += w.AAS
	}
	if r.Ledger != nil {
		s.Missing, s.Duplicated = &r.Ledger.Missing, &r.Ledger.Duplicated
	}
	for i, planned := range r.Plan.Profile.Invariants {
		if i >= len(r.Facts.Invariants) || r.Facts.Invariants[i].Rows > 0 || r.Facts.Invariants[i].Error != "" {
			s.Violated = append(s.Violated, planned.Name)
		}
	}
	s.GeneratorCPU = v.Generator.CPUShare
	for _, rule := range v.Rules {
		if slices.Contains(needed, rule.ID) && rule.Outcome == verdict.Invalid {
			s.Broken = rule.Detail
		}
	}
	switch {
	case r.Facts.Stopped != "":
		s.Broken = r.Facts.Stopped
	case r.Facts.Interrupted:
		s.Broken = "interrupted"
	case s.TPS == 0 && s.NotCompleted == 0:
		s.Broken = "no transaction ran"
	}
	return s
}

// errorsOf counts the errors of the generator and of its script by class; nil: none.
func errorsOf(t *record.Timeline) map[string]int64 {
	var all map[string]int64
	seen := map[[2]string]bool{}
	for _, series := range t.Series(metric.ErrorsByClass) {
		where, class := series.Label("where"), series.Label("class")
		id := [2]string{where, class}
		if where != metric.AtClient && where != metric.AtScript || seen[id] { // several workers have a series of these labels
			continue
		}
		seen[id] = true
		labels := []metric.Label{{Key: "where", Value: where}, {Key: "class", Value: class}}
		if n, _ := t.Sum(metric.ErrorsByClass, labels, record.All); n > 0 {
			if all == nil {
				all = map[string]int64{}
			}
			all[class] += int64(n)
		}
	}
	return all
}

func (s *Step) latency(r record.Run) {
	h := &metric.Hist{}
	for _, w := range r.Plan.Load.Judged {
		r.Timeline.MergeHist(h, metric.TransactionDuration, nil, record.SpanOf(r.Facts.T0, w))
	}
	if v, ok := h.Quantile(0.95); ok {
		s.P95 = &v
	}
	if v, ok := h.Mean(); ok {
		s.Mean = &v
	}
}

// Point is one load: Threads of the closed model, or else Rate of the open model.
type Point struct {
	Threads int     `json:"threads,omitempty" jsonschema:"minimum=1"`
	Rate    float64 `json:"rate,omitempty" jsonschema:"exclusiveMinimum=0"` // transactions per second
}

// String is the load in words.
func (p Point) String() string {
	if p.Threads > 0 {
		return Threads(p.Threads)
	}
	return strconv.FormatFloat(p.Rate, 'g', -1, 64) + "/s"
}

// Threads is a number of threads in words.
func Threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// Cell is one step: a variant, by its index, at a point, in a round.
type Cell struct {
	Variant int
	Point   Point
	Round   int
}

// Order is the order of the steps. All variants are measured at a point one after the
// other, so that they are compared under the same conditions of a shared machine; in every
// second round in the opposite order (ABBA), so that a drift cancels.
func Order(variants int, points []Point, rounds int) (all []Cell) {
	for round := range rounds {
		for _, p := range points {
			for v := range variants {
				if round%2 == 1 {
					v = variants - 1 - v
				}
				all = append(all, Cell{v, p, round})
			}
		}
	}
	return all
}

// sortPoints returns the points of a document: threads first, each ascending and once.
func sortPoints(all []Point) []Point {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Point) int {
		if (a.Threads > 0) != (b.Threads > 0) {
			return b.Threads - a.Threads
		}
		return cmp.Or(a.Threads-b.Threads, cmp.Compare(a.Rate, b.Rate))
	})
	return slices.Compact(all)
}
