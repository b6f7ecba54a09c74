package scale

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"assay.dev/assay/internal/judge/stats/effect"
)

// SchemaName is the "schema" field of every scale.json.
const SchemaName = "assay/scale/v1"

// Variant is one form of the system, or of the work: values of the script's environment.
type Variant struct {
	Name string            `json:"name" jsonschema:"minLength=1"`
	Env  map[string]string `json:"env,omitempty"`
}

// Parameters are what was asked for.
type Parameters struct {
	ID       string    `json:"scale" jsonschema:"minLength=1"`
	Profile  string    `json:"profile" jsonschema:"minLength=1"`
	Target   string    `json:"target"`
	Database string    `json:"database,omitempty"` // DSN without password
	Variants []Variant `json:"variants"`           // the others are compared with the first
	Points   []Point   `json:"points"`
	Rounds   int       `json:"rounds" jsonschema:"minimum=1"`
	Seconds  float64   `json:"step_seconds" jsonschema:"exclusiveMinimum=0"` // measured seconds of a step
	Seed     uint64    `json:"seed"`
}

// Document is the content of scale.json. Nothing in it certifies anything: threads are the
// closed model, and steps are short.
type Document struct {
	Schema string `json:"schema" jsonschema:"enum=assay/scale/v1"`
	Parameters
	State     string   `json:"state" jsonschema:"enum=running,enum=done,enum=interrupted,enum=failed"`
	Curves    []Curve  `json:"curves"`
	Ratios    []Ratio  `json:"ratios"`
	Losses    []string `json:"losses"` // steps that lost or duplicated transactions, or broke an invariant
	Steps     []Step   `json:"steps"`  // in the order in which they were made
	Certifies bool     `json:"certifies" jsonschema:"const=false"`
}

// Curve is the throughput of a variant over its points.
type Curve struct {
	Variant string       `json:"variant"`
	Points  []CurvePoint `json:"points"`
	Law     *Law         `json:"universal_scalability_law"` // advice; null: fewer than four numbers of threads
}

// CurvePoint summarises the steps of a variant at one point: medians, and the least and the
// greatest throughput.
type CurvePoint struct {
	Point
	Steps        int              `json:"steps"`
	TPS          *float64         `json:"tps"`
	LeastTPS     *float64         `json:"least_tps"`
	MostTPS      *float64         `json:"most_tps"`
	P95          *float64         `json:"p95_ms"`
	Scaling      *float64         `json:"scaling"` // throughput as a multiple of that at the first point of its model
	NotCompleted int64            `json:"not_completed"`
	Errors       map[string]int64 `json:"errors,omitempty"`
	Wait         string           `json:"wait,omitempty"` // class with the most active sessions
}

// Ratio is the throughput of a variant over that of the first one, by pairs of steps of one
// round: at one point, or of the geometric means over all points where Point is empty.
// Lower and Upper are its 95 % interval; null: fewer than six pairs.
type Ratio struct {
	Variant string `json:"variant"`
	Point
	Pairs int      `json:"pairs"`
	Ratio *float64 `json:"ratio"`
	Lower *float64 `json:"lower"`
	Upper *float64 `json:"upper"`
	P     *float64 `json:"p"`
}

// States of a document.
const (
	Running     = "running"
	Done        = "done"
	Interrupted = "interrupted"
	Failed      = "failed"
)

// Summarise builds the document from the steps so far.
func Summarise(p Parameters, state string, steps []Step) Document {
	d := Document{Schema: SchemaName, Parameters: p, State: state, Curves: []Curve{}, Ratios: []Ratio{}, Losses: []string{}, Steps: steps}
	if d.Steps == nil {
		d.Steps = []Step{}
	}
	points := sortPoints(p.Points)
	for _, v := range p.Variants {
		d.Curves = append(d.Curves, curve(v.Name, points, steps))
	}
	for _, v := range p.Variants[min(1, len(p.Variants)):] {
		all := map[int][]effect.Pair{} // by round
		for _, at := range points {
			pairs := pairsAt(steps, p.Variants[0].Name, v.Name, at)
			for round, pair := range pairs {
				all[round] = append(all[round], pair)
			}
			d.Ratios = append(d.Ratios, ratio(v.Name, at, slices.Collect(maps.Values(pairs))))
		}
		if len(points) > 1 {
			d.Ratios = append(d.Ratios, ratio(v.Name, Point{}, overPoints(all, len(points))))
		}
	}
	for _, s := range steps {
		if text := s.loss(); text != "" {
			d.Losses = append(d.Losses, fmt.Sprintf("%s, %s, round %d: %s", s.Variant, s.Point, s.Round, text))
		}
	}
	return d
}

// loss says what a step lost or broke; empty: nothing.
func (s Step) loss() string {
	var all []string
	if s.Missing != nil && *s.Missing > 0 {
		all = append(all, fmt.Sprintf("%d acknowledged transactions were lost", *s.Missing))
	}
	if s.Duplicated != nil && *s.Duplicated > 0 {
		all = append(all, fmt.Sprintf("%d transactions were duplicated", *s.Duplicated))
	}
	for _, name := range s.Violated {
		all = append(all, "invariant violated or not checked: "+name)
	}
	return strings.Join(all, "; ")
}

func stepsAt(steps []Step, variant string, at Point) (all []Step) {
	for _, s := range steps {
		if s.Variant == variant && s.Point == at && s.Broken == "" {
			all = append(all, s)
		}
	}
	return all
}

func curve(variant string, points []Point, steps []Step) Curve {
	c := Curve{Variant: variant, Points: []CurvePoint{}}
	var threads []int
	var tps []float64
	var first [2]*float64 // first median throughput of the points with threads, and of those with rates
	for _, at := range points {
		made := stepsAt(steps, variant, at)
		p := CurvePoint{Point: at, Steps: len(made)}
		var rates, p95s []float64
		waits := map[string]float64{}
		for _, s := range made {
			rates = append(rates, s.TPS)
			if s.P95 != nil {
				p95s = append(p95s, *s.P95)
			}
			p.NotCompleted += s.NotCompleted
			for class, n := range s.Errors {
				if p.Errors == nil {
					p.Errors = map[string]int64{}
				}
				p.Errors[class] += n
			}
			for class, n := range s.Waits {
				waits[class] += n
			}
		}
		p.TPS, p.P95 = median(rates), median(p95s)
		if len(rates) > 0 {
			p.LeastTPS, p.MostTPS = new(slices.Min(rates)), new(slices.Max(rates))
		}
		model := 1
		if at.Threads > 0 {
			model = 0
		}
		if p.TPS != nil && *p.TPS > 0 {
			if first[model] == nil {
				first[model] = p.TPS
			}
			p.Scaling = new(*p.TPS / *first[model])
			if at.Threads > 0 {
				threads, tps = append(threads, at.Threads), append(tps, *p.TPS)
			}
		}
		p.Wait = largest(waits)
		c.Points = append(c.Points, p)
	}
	if l, ok := Fit(threads, tps); ok {
		c.Law = &l
	}
	return c
}

// largest is the key with the largest value, the first by name of several; empty: none.
func largest(of map[string]float64) (key string) {
	for _, k := range slices.Sorted(maps.Keys(of)) {
		if key == "" || of[k] > of[key] {
			key = k
		}
	}
	return key
}

func median(of []float64) *float64 {
	if len(of) == 0 {
		return nil
	}
	of = slices.Sorted(slices.Values(of))
	return new((of[(len(of)-1)/2] + of[len(of)/2]) / 2)
}

// pairsAt are the throughputs of two variants at one point, of the rounds that have both.
func pairsAt(steps []Step, a, b string, at Point) map[int]effect.Pair {
	of, all := map[int]float64{}, map[int]effect.Pair{}
	for _, s := range stepsAt(steps, a, at) {
		of[s.Round] = s.TPS
	}
	for _, s := range stepsAt(steps, b, at) {
		if first, ok := of[s.Round]; ok {
			all[s.Round] = effect.Pair{A: first, B: s.TPS}
		}
	}
	return all
}

// overPoints are the geometric means over all points, one pair for each round that has
// them all: points of one round are no repetitions.
func overPoints(rounds map[int][]effect.Pair, points int) (all []effect.Pair) {
	for _, pairs := range rounds {
		if len(pairs) < points {
			continue
		}
		var a, b float64
		for _, p := range pairs {
			a, b = a+math.Log(p.A), b+math.Log(p.B)
		}
		all = append(all, effect.Pair{A: math.Exp(a / float64(points)), B: math.Exp(b / float64(points))})
	}
	return all
}

func ratio(variant string, at Point, pairs []effect.Pair) Ratio {
	r := Ratio{Variant: variant, Point: at, Pairs: len(pairs)}
	if e, ok := effect.Paired(pairs); ok {
		r.Ratio, r.P = &e.Ratio, e.P
		if e.Interval != nil {
			r.Lower, r.Upper = &e.Interval.Lower, &e.Interval.Upper
		}
	}
	return r
}
