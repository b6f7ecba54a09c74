package experiment

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/judge/stats/effect"
	"assay.dev/assay/internal/series/search"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/schematest"
)

// Each round has each variant once, with the same seed, in an order that the experiment's
// seed decides. Every variant is as often at each position.
func TestRound(t *testing.T) {
	for _, n := range []int{2, 3, 8} {
		const rounds, seeds = 8, 500
		at := make([][]int, n) // by variant and position
		for v := range at {
			at[v] = make([]int, n)
		}
		for seed := range uint64(seeds) {
			for round := range rounds {
				turns := Round(n, round, seed)
				if !slices.Equal(turns, Round(n, round, seed)) {
					t.Fatal("the order differs for the same seed")
				}
				seen := map[int]bool{}
				for i, turn := range turns {
					seen[turn.Variant] = true
					at[turn.Variant][i]++
					if turn.Round != round || turn.Seed != seed+uint64(round) {
						t.Errorf("%+v of round %d", turn, round)
					}
				}
				if len(seen) != n {
					t.Errorf("%d variants of %d", len(seen), n)
				}
			}
		}
		for v := range at {
			for i, times := range at[v] {
				share, deviation := 1/float64(n), math.Sqrt(1/float64(n)*(1-1/float64(n))/(rounds*seeds))
				if got := float64(times) / (rounds * seeds); math.Abs(got-share) > 4*deviation {
					t.Errorf("variant %d of %d is at %d in %.3f of rounds", v, n, i, got)
				}
			}
		}
	}
}

// What a machine does with a rhythm, or over time, is not found to be an effect of a variant
// more often than at the level of the tests: A B, B A, which a rhythm of four runs aliases
// with, found one in nearly all experiments.
func TestRhythmOfTheMachine(t *testing.T) {
	const experiments = 1000
	for name, slow := range map[string]func(run int) float64{
		"every second run":           func(run int) float64 { return float64(run % 2) },
		"every third run":            func(run int) float64 { return float64((run % 3) / 2) },
		"two of four runs":           func(run int) float64 { return float64((run + 1) / 2 % 2) },
		"every fourth run":           func(run int) float64 { return float64((run % 4) / 3) },
		"three of six runs":          func(run int) float64 { return float64(run / 3 % 2) },
		"slower from run to run":     func(run int) float64 { return float64(run) / 4 },
		"slower from the sixth run":  func(run int) float64 { return float64(min(1, run/6)) },
		"a wave of four runs":        func(run int) float64 { return math.Sin(float64(run) * math.Pi / 2) },
		"a wave of four runs, later": func(run int) float64 { return math.Sin(float64(run)*math.Pi/2 - math.Pi/4) },
	} {
		for _, pairs := range []int{6, 8, 12} {
			changed := 0
			for seed := range uint64(experiments) {
				noise := rand.New(rand.NewPCG(seed, 1))
				values := make([]effect.Pair, pairs)
				for round := range pairs {
					for i, turn := range Round(2, round, seed) {
						v := math.Exp(0.3*slow(2*round+i) + 0.02*noise.NormFloat64())
						if turn.Variant == 0 {
							values[round].A = v
						} else {
							values[round].B = v
						}
					}
				}
				e, _ := effect.Paired(values)
				if effect.Decide(e, e.P, tolerance) == effect.Changed {
					changed++
				}
			}
			if share := float64(changed) / experiments; share > effect.Alpha+3*math.Sqrt(effect.Alpha/experiments) {
				t.Errorf("%s: %.1f %% of experiments of %d pairs found a change", name, share*100, pairs)
			}
		}
	}
}

// fake is a Loop with synthetic runs that records what is called.
type fake struct {
	calls   []string                 // "+A" apply, "-" revert, "A" a run, "a" a trial
	runs    map[string][]compare.Run // by variant
	invalid map[int]bool             // runs, by their number from 1
	fails   string                   // the call that fails
	made    int
	limits  map[string]float64 // capacity, by variant
	applied string             // variant
}

func newFake() *fake {
	a, b := groups(12, 0.5, scaled(0))
	return &fake{runs: map[string][]compare.Run{"A": a.Runs, "B": b.Runs}, invalid: map[int]bool{}, limits: map[string]float64{"A": 100, "B": 150}}
}

func (w *fake) call(name string) error {
	w.calls = append(w.calls, name)
	if name == w.fails {
		return errors.New(name + " fails")
	}
	return nil
}

func (w *fake) loop(t *testing.T) Loop {
	return Loop{
		Apply: func(_ context.Context, v spec.Variant) error {
			w.applied = v.Name
			return w.call("+" + v.Name)
		},
		Revert: func() error { w.applied = ""; return w.call("-") },
		Make: func(_ context.Context, turn Turn, v spec.Variant) (m RunResult, err error) {
			if w.applied != v.Name {
				t.Errorf("%s is applied for a run of %s", w.applied, v.Name)
			}
			w.made++
			c := w.runs[v.Name][turn.Round]
			if w.invalid[w.made] {
				m.Invalid = "INVALID by the rule generator-lag"
			}
			m.Run, m.Verdict, m.compared = c.Certificate.Run, "PASS", c
			return m, w.call(v.Name)
		},
		Search: func(ctx context.Context, v spec.Variant, trial Trial) (search.Document, string, error) {
			a := search.Parameters{Goal: search.Goal{Trials: 1, Width: 0.05}, Range: search.Range{From: 64, Floor: 1, Max: 1000}}
			d, err := search.Run(ctx, a, search.Loop{
				Keep: func(search.Document) error { return nil },
				Trial: func(ctx context.Context, rate float64, _ int) (p search.Probe, err error) {
					err = trial(ctx, func() error {
						if w.applied != v.Name {
							t.Errorf("%s is applied for a trial of %s", w.applied, v.Name)
						}
						p = search.Probe{Rate: rate, Result: search.Clear}
						if rate > w.limits[v.Name] {
							p.Result = search.Broken
						}
						return w.call(strings.ToLower(v.Name))
					})
					return p, err
				},
			})
			return d, "capacity/" + v.Name, err
		},
		Progress: func(Progress) {},
	}
}

func experimentOf(pairs int) (spec.Experiment, Parameters) {
	e := spec.Experiment{Pairs: pairs, Primary: cause, Tolerance: tolerance, Variants: []spec.Variant{{Name: "A"}, {Name: "B", Database: []string{"--skip-log-bin"}}}}
	return e, Parameters{
		ID: "x", File: "x.json", SHA256: strings.Repeat("0", 64), Profile: "payment", Rate: 100, Unit: "tps", Workers: 1, Pairs: pairs, Primary: cause,
		Tolerance: tolerance, Started: time.Unix(0, 0).UTC(),
	}
}

func checkSchema(t *testing.T, d Document) {
	t.Helper()
	data, err := document.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	schematest.Validate(t, schematest.Compile(t, schemaFile), data)
}

var update = flag.Bool("update", false, "rewrite the schema and the golden files")

const schemaFile = "experiment.schema.json"

func TestSchema(t *testing.T) {
	schematest.Check(t, schemaFile, Document{}, schematest.Header{
		ID: SchemaName, Title: "Assay experiment result",
		Description: `The effect of variants of a system, measured in interleaved runs. Fields are added, never renamed; null is "no data", never 0. An interrupted or failed experiment has no effects and no capacity.`,
	}, *update)
}

func TestInterleavedRuns(t *testing.T) {
	w := newFake()
	e, a := experimentOf(6)
	d, err := Run(t.Context(), e, a, w.loop(t))
	if err != nil {
		t.Fatal(err)
	}
	checkSchema(t, d)
	if d.State != Done || d.Order != d.PlannedOrder || d.Order != plannedOrder(2, 6, a.Seed) || d.Sentence != "B: confirmed" || len(d.Limitations) != 0 {
		t.Errorf("%s, %q, %q, %q", d.State, d.Order, d.Sentence, d.Limitations)
	}
	var want []string
	for _, letter := range strings.ReplaceAll(d.PlannedOrder, " ", "") {
		want = append(want, "+"+string(letter), string(letter), "-")
	}
	if diff := cmp.Diff(want, w.calls); diff != "" {
		t.Error(diff)
	}
	if n := len(d.Effects[0].Comparison.Pairing.Pairs); n != 6 {
		t.Errorf("%d pairs", n)
	}
}

// A round with an INVALID run is repeated as a whole, up to a limit.
func TestInvalidRoundsAreRepeated(t *testing.T) {
	w := newFake()
	w.invalid[4] = true
	e, a := experimentOf(6)
	d, err := Run(t.Context(), e, a, w.loop(t))
	if err != nil {
		t.Fatal(err)
	}
	checkSchema(t, d)
	if len(d.Runs) != 14 || d.Sentence != "B: confirmed" || len(d.Limitations) != 1 || !strings.Contains(d.Limitations[0], "1 round repeated") {
		t.Errorf("%d runs, %q, %q", len(d.Runs), d.Sentence, d.Limitations)
	}

	w = newFake()
	for i := range 24 {
		w.invalid[i+1] = true
	}
	if d, err = Run(t.Context(), e, a, w.loop(t)); err != nil {
		t.Fatal(err)
	}
	if len(d.Runs) != 8 || d.Effects[0].Outcome != Undetermined || d.Effects[0].Comparison != nil || !strings.Contains(d.Limitations[0], "0 of 6 rounds without an INVALID run") {
		t.Errorf("%d runs, %+v, %q", len(d.Runs), d.Effects, d.Limitations)
	}
	checkSchema(t, d)
}

// Whatever fails, the variant is reverted, and the document has no result.
func TestFailed(t *testing.T) {
	for _, fails := range []string{"+B", "B", "-", "b"} {
		w := newFake()
		w.fails = fails
		e, a := experimentOf(6)
		e.Capacity = &spec.Capacity{}
		d, err := Run(t.Context(), e, a, w.loop(t))
		if err == nil || !strings.Contains(err.Error(), fails+" fails") {
			t.Fatalf("%s: error %v", fails, err)
		}
		if d.State != Failed || len(d.Effects)+len(d.Capacity) != 0 || !strings.HasSuffix(d.Sentence, "no result") {
			t.Errorf("%s: %+v", fails, d)
		}
		if last := w.calls[len(w.calls)-1]; last != "-" {
			t.Errorf("%s: the last call was %s", fails, last)
		}
		checkSchema(t, d)
	}
}

func TestInterrupted(t *testing.T) {
	w := newFake()
	e, a := experimentOf(6)
	ctx, interrupt := context.WithCancel(t.Context())
	l := w.loop(t)
	run := l.Make
	l.Make = func(ctx context.Context, turn Turn, v spec.Variant) (RunResult, error) {
		if w.made == 2 {
			interrupt()
		}
		return run(ctx, turn, v)
	}
	d, err := Run(ctx, e, a, l)
	if !errors.Is(err, context.Canceled) || d.State != Interrupted || len(d.Runs) != 2 || len(d.Effects) != 0 || w.calls[len(w.calls)-1] != "-" {
		t.Errorf("%v: %+v", err, d)
	}
	checkSchema(t, d)
}

// An interruption of the searches keeps the result of the pairs.
func TestInterruptedSearches(t *testing.T) {
	w := newFake()
	e, a := experimentOf(6)
	e.Capacity = &spec.Capacity{}
	ctx, interrupt := context.WithCancel(t.Context())
	l := w.loop(t)
	searching := l.Search
	l.Search = func(ctx context.Context, v spec.Variant, trial Trial) (search.Document, string, error) {
		return searching(ctx, v, func(ctx context.Context, do func() error) error {
			interrupt()
			return trial(ctx, do)
		})
	}
	d, err := Run(ctx, e, a, l)
	if !errors.Is(err, context.Canceled) || d.State != Done || d.Sentence != "B: confirmed" || len(d.Capacity) != 0 || d.Effects[0].Capacity != nil || w.calls[len(w.calls)-1] != "-" {
		t.Errorf("%v: %+v", err, d)
	}
	if len(d.Limitations) != 1 || !strings.Contains(d.Limitations[0], "the searches were interrupted") {
		t.Errorf("%q", d.Limitations)
	}
	checkSchema(t, d)
}

// The searches make their trials in turn, and one that has ended is skipped.
func TestCapacities(t *testing.T) {
	w := newFake()
	e, a := experimentOf(1)
	e.Capacity = &spec.Capacity{}
	d, err := Run(t.Context(), e, a, w.loop(t))
	if err != nil {
		t.Fatal(err)
	}
	checkSchema(t, d)
	var order []string
	for _, call := range w.calls {
		if call == "a" || call == "b" {
			order = append(order, call)
		}
	}
	if got := strings.Join(order, ""); !strings.HasPrefix(got, strings.ToLower(strings.ReplaceAll(plannedOrder(2, 4, a.Seed), " ", ""))) {
		t.Errorf("order %s", got)
	}
	if len(order) != d.Capacity[0].Trials+d.Capacity[1].Trials {
		t.Errorf("%d trials, %+v", len(order), d.Capacity)
	}
	for i, limit := range []float64{100, 150} {
		if c := d.Capacity[i]; *c.Lower > limit || *c.Upper <= limit {
			t.Errorf("capacity %s of %g", fmt.Sprint(*c.Lower, *c.Upper), limit)
		}
	}
	if r := d.Effects[0].Capacity; r == nil || !(*r.Least <= 1.5 && 1.5 <= *r.Most) || *r.Ratio < *r.Least || *r.Ratio > *r.Most {
		t.Errorf("ratio %+v", r)
	}
}

// A search that did not find both bounds adds its sentence to the limitations.
func TestUndecidedCapacity(t *testing.T) {
	d := Document{Capacity: []Capacity{{Variant: "A", State: "found", Sentence: "found"}, {Variant: "B", State: "undecided", Sentence: "the trials do not decide"}}}
	d.conclude(runner{})
	if !slices.Contains(d.Limitations, "B: the trials do not decide") || slices.Contains(d.Limitations, "A: found") {
		t.Errorf("%q", d.Limitations)
	}
}

// A ratio has only the parts for which both bounds were found.
func TestRatioOf(t *testing.T) {
	at := func(lower, upper float64) Capacity {
		c := Capacity{Lower: &lower}
		if upper > 0 {
			c.Upper = &upper
		}
		return c
	}
	if r := ratioOf(at(100, 110), at(200, 220)); r == nil || *r.Ratio != 2 || *r.Least != 200.0/110 || *r.Most != 2.2 {
		t.Errorf("%+v", r)
	}
	if r := ratioOf(at(100, 110), at(200, 0)); r == nil || r.Ratio != nil || *r.Least != 200.0/110 || r.Most != nil {
		t.Errorf("%+v", r)
	}
	if r := ratioOf(at(100, 0), at(200, 0)); r != nil {
		t.Errorf("%+v", r)
	}
}
