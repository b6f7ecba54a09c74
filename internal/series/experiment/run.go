package experiment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/series/experiment/binlog"
	"assay.dev/assay/internal/series/search"
	"assay.dev/assay/internal/spec"
)

// Loop holds the effects of an experiment. Its functions are called one at a time.
type Loop struct {
	// Apply applies a variant, and Revert reverts it. Both may block while a server
	// starts. Revert is called after each Apply, even if that failed.
	Apply  func(context.Context, spec.Variant) error
	Revert func() error
	// Read is what the variant's binlog readers have read. It is called after Revert,
	// if the variant has any.
	Read func() binlog.Read
	// Make makes one run of the applied variant, and blocks until it has ended. An
	// error ends the experiment.
	Make func(context.Context, Turn, spec.Variant) (RunResult, error)
	// Search searches for a variant's highest rate within the SLOs. It calls trial
	// around each trial, which waits for its turn and applies the variant.
	Search func(ctx context.Context, v spec.Variant, trial Trial) (search.Document, string, error)
	// Progress is called before each run and after the last round.
	Progress func(Progress)
}

// Progress is the progress of an experiment.
type Progress struct {
	Next    *Turn         // nil: all rounds were made
	Done    int           // runs so far
	Total   int           // runs, including repeated rounds so far
	Left    time.Duration // estimated from the runs so far; 0: not known yet
	Dropped string        // why the last round is repeated; empty: it is not
}

// Run makes the experiment's runs. If it fails or is interrupted, the document has no
// result and the error is the reason. If it is interrupted during the searches, the
// document has the result of the pairs and lacks only the capacities.
func Run(ctx context.Context, e spec.Experiment, a Parameters, l Loop) (Document, error) {
	for _, v := range e.Variants {
		a.Variants = append(a.Variants, Variant{v.Name, v.Description, Changes(v)})
	}
	a.PlannedOrder = plannedOrder(len(e.Variants), a.Pairs, a.Seed)
	d := Document{Schema: SchemaName, Parameters: a, State: Done, Runs: []RunResult{}, Effects: []Effect{}, Capacity: []Capacity{}, Limitations: []string{}}
	b := runner{e: e, a: a, loop: l, runs: []RunResult{}}
	err := b.rounds(ctx)
	interrupted := false
	if err == nil && e.Capacity != nil {
		d.Capacity, err = b.capacities(ctx)
		interrupted = err != nil && ctx.Err() != nil
	}
	d.Runs, d.Order = b.runs, order(b.runs, a.Variants)
	if interrupted {
		d.Capacity = []Capacity{}
		d.Limitations = append(d.Limitations, "the searches were interrupted: the highest rates are not known")
	} else if err != nil {
		d.stop(ctx, err)
		return d, err
	}
	var failed error
	if d.Effects, failed = b.effects(d.Capacity); failed != nil {
		d.stop(ctx, failed)
		return d, failed
	}
	d.conclude(b)
	return d, err
}

// stop removes what could be mistaken for a result, and keeps the list of runs.
func (d *Document) stop(ctx context.Context, reason error) {
	d.State = Failed
	if ctx.Err() != nil {
		d.State = Interrupted
	}
	d.Effects, d.Capacity = []Effect{}, []Capacity{}
	d.Sentence = fmt.Sprintf("%s after %s of %d: no result", d.State, quantity.Number(len(d.Runs), "run"), len(d.Variants)*d.Pairs)
	text, _, _ := strings.Cut(mask.Text(reason.Error()), "\n")
	d.Limitations = append(d.Limitations, d.State+": "+text)
}

// conclude sets the sentence and the limitations of the whole experiment.
func (d *Document) conclude(b runner) {
	for i, e := range d.Effects {
		if i > 0 {
			d.Sentence += "; "
		}
		d.Sentence += e.Variant + ": " + string(e.Outcome)
	}
	if valid := len(b.valid); valid < d.Pairs {
		d.Limitations = append(d.Limitations, fmt.Sprintf("%d of %s without an INVALID run: this machine is too busy for the experiment", valid, quantity.Number(d.Pairs, "round")))
	} else if n := len(b.dropped); n > 0 {
		d.Limitations = append(d.Limitations, fmt.Sprintf("%s repeated because of an INVALID run, which does not depend on its result", quantity.Number(n, "round")))
	}
	if len(d.Capacity) > 0 {
		d.Limitations = append(d.Limitations, "each capacity is from a single search: its bounds are not a confidence interval")
	}
	for _, c := range d.Capacity {
		if c.State != string(search.Found) {
			d.Limitations = append(d.Limitations, c.Variant+": "+c.Sentence)
		}
	}
}

type runner struct {
	e       spec.Experiment
	a       Parameters
	loop    Loop
	runs    []RunResult
	valid   map[int]bool // rounds, from 1, without an INVALID run
	dropped []string     // for each other round: why a run is INVALID
	spent   time.Duration
}

// rounds makes the planned number of valid rounds, or stops after too many invalid
// ones.
func (b *runner) rounds(ctx context.Context) error {
	b.valid = map[int]bool{}
	last := ""
	for round := 0; len(b.valid) < b.a.Pairs && len(b.dropped) <= spareRounds(b.a.Pairs); round++ {
		invalid := ""
		for _, t := range Round(len(b.e.Variants), round, b.a.Seed) {
			b.loop.Progress(b.progress(&t, last))
			last = ""
			m, err := b.turn(ctx, t)
			if err != nil {
				return err
			}
			if m.Invalid != "" {
				invalid = m.Invalid
			}
		}
		if invalid != "" {
			b.dropped, last = append(b.dropped, invalid), invalid
			continue
		}
		b.valid[round+1] = true
	}
	b.loop.Progress(b.progress(nil, last))
	return nil
}

func (b *runner) progress(next *Turn, dropped string) Progress {
	n := len(b.e.Variants)
	p := Progress{Next: next, Done: len(b.runs), Total: n * (b.a.Pairs + len(b.dropped)), Dropped: dropped}
	if p.Done > 0 {
		p.Left = b.spent / time.Duration(p.Done) * time.Duration(p.Total-p.Done)
	}
	return p
}

func (b *runner) turn(ctx context.Context, t Turn) (m RunResult, err error) {
	v, start := b.e.Variants[t.Variant], time.Now()
	err = b.withVariant(ctx, v, func() (err error) {
		m, err = b.loop.Make(ctx, t, v)
		return err
	})
	if err == nil {
		err = context.Cause(ctx) // an interrupted run does not count
	}
	if err != nil {
		return m, err
	}
	took := time.Since(start)
	b.spent += took
	m.Variant, m.Round, m.Seed, m.Seconds = v.Name, t.Round+1, t.Seed, took.Round(100*time.Millisecond).Seconds()
	if v.Readers > 0 {
		read := b.loop.Read()
		m.Readers = &read
	}
	b.runs = append(b.runs, m)
	return m, nil
}

func (b *runner) withVariant(ctx context.Context, v spec.Variant, do func() error) error {
	err := b.loop.Apply(ctx, v)
	if err == nil {
		err = do()
	}
	return errors.Join(err, b.loop.Revert())
}

// effects compares each variant with the control, over the valid rounds.
func (b *runner) effects(capacities []Capacity) (all []Effect, err error) {
	control := b.group(b.e.Control().Name)
	for i, v := range b.e.Variants[1:] {
		e, err := Conclude(control, b.group(v.Name), b.a.Primary, b.a.Tolerance)
		var refused *compare.Refusal
		switch {
		case errors.As(err, &refused): // no pair of runs can be compared
			e = Effect{
				Outcome: Undetermined, Primary: []PrimaryMetric{}, Events: []Event{}, Bottlenecks: Bottlenecks{[]Component{}, []Component{}},
				Sentence: "undetermined: " + refused.Error(),
			}
		case err != nil:
			return nil, err
		default:
			e.Sentence = e.sentence(b.a, v.Name)
		}
		e.Variant = v.Name
		if len(capacities) > 0 {
			e.Capacity = ratioOf(capacities[0], capacities[i+1])
		}
		all = append(all, e)
	}
	return all, nil
}

// group is the runs of a variant in valid rounds.
func (b *runner) group(variant string) compare.Group {
	g := compare.Group{Name: variant}
	for _, r := range b.runs {
		if r.Variant == variant && b.valid[r.Round] {
			g.Runs = append(g.Runs, r.compared)
		}
	}
	return g
}

// Turn is a planned run.
type Turn struct {
	Variant int    // index
	Round   int    // from 0
	Seed    uint64 // the same for all variants of a round
}

// Round is the order of the variants in a round, drawn from the seed for each round by
// itself: any regular order (A B, B A, A B) has a period, and what the machine does with that
// period (a backup every fourth run) would count as an effect of a variant. With this draw
// each difference within a pair is as likely negative as positive where the variants are
// equal, whatever the machine does, which is all that Wilcoxon's signed-rank test assumes.
func Round(variants, round int, seed uint64) []Turn {
	random := rand.New(rand.NewPCG(seed, orderStream))
	var order []int
	for range round + 1 {
		order = random.Perm(variants)
	}
	turns := make([]Turn, variants)
	for i, v := range order {
		turns[i] = Turn{v, round, seed + uint64(round)}
	}
	return turns
}

// orderStream separates the order's random numbers from others of the same seed.
const orderStream = 0x6f72646572 // "order"

// plannedOrder formats the order of the planned rounds; repeated rounds are drawn after them.
func plannedOrder(variants, rounds int, seed uint64) string {
	all := make([]string, rounds)
	for round := range all {
		for _, t := range Round(variants, round, seed) {
			all[round] += Letter(t.Variant)
		}
	}
	return strings.Join(all, " ")
}

// spareRounds is how many rounds may be repeated because of an INVALID run. Being
// INVALID does not depend on a run's result, so that repeating does not bias the
// comparison. Where more are needed, the machine is not fit for the experiment.
func spareRounds(pairs int) int { return (pairs + 1) / 2 }

// Letter abbreviates a variant by its index: A, the control, then B and so on.
func Letter(v int) string { return string(rune('A' + v)) }

// order formats the runs that were made as "AB BA".
func order(runs []RunResult, variants []Variant) string {
	var b strings.Builder
	for i, r := range runs {
		if i > 0 && runs[i-1].Round != r.Round {
			b.WriteString(" ")
		}
		b.WriteString(Letter(slices.IndexFunc(variants, func(v Variant) bool { return v.Name == r.Variant })))
	}
	return b.String()
}

// Changes describes a variant's changes.
func Changes(v spec.Variant) []string {
	all := []string{}
	if len(v.Database) > 0 {
		all = append(all, "database server started with "+strings.Join(v.Database, " "))
	}
	if len(v.Service) > 0 {
		all = append(all, "service started with "+strings.Join(v.Service, " "))
	}
	for _, g := range v.Global {
		all = append(all, g.Name+" = "+g.Value)
	}
	if v.SQL != nil {
		all = append(all, v.SQL.Apply...)
	}
	if v.Command != nil {
		all = append(all, strings.Join(v.Command.Apply, " "))
	}
	if v.Readers > 0 {
		all = append(all, quantity.Number(v.Readers, "binlog reader"))
	}
	return all
}
