package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/harness/judge/compare"
	"assay/harness/lab/experiment/binlog"
	"assay/harness/lab/search"
	"assay/harness/spec"
)

// Loop is what an experiment needs of the world. Its functions are called one at
// a time.
type Loop struct {
	// Apply puts a variant in place, and Revert takes it back. Both may block for
	// a server's start. Revert is called after each Apply, whatever came of it.
	Apply  func(context.Context, spec.Variant) error
	Revert func() error
	// Read is what the variant's readers of the binlog have read; called after
	// Revert, where it had any.
	Read func() binlog.Read
	// Make makes one run of the variant that is in place, and blocks for its
	// length. An error ends the experiment.
	Make func(context.Context, Turn, spec.Variant) (Made, compare.Run, error)
	// Search looks for a variant's highest rate within the SLOs. It calls trial
	// around each trial, which puts the variant in place when it is its turn.
	Search func(ctx context.Context, v spec.Variant, trial Trial) (search.Document, string, error)
	// Tell is called before each run and after the last.
	Tell func(Progress)
}

// Progress is how far an experiment is.
type Progress struct {
	Next    *Turn         // nil: no run of the rounds is left
	Made    int           // runs so far
	Of      int           // runs in all, as it stands
	Left    time.Duration // by the runs so far; 0: not known yet
	Dropped string        // why the last round is made again
}

// Run makes the experiment's runs. The document is whole when it ends without an
// error; else it claims nothing, and the reason is the error. One that was
// interrupted in its searches has made all of its pairs, and lacks the capacities
// alone.
func Run(ctx context.Context, e spec.Experiment, a Asked, l Loop) (Document, error) {
	a.Variants = variantsOf(e)
	d := Document{Schema: SchemaName, Asked: a, State: Done, Runs: []Made{}, Effects: []Effect{}, Capacity: []Capacity{}, Limitations: []string{}}
	b := bench{e: e, a: a, loop: l, runs: []Made{}}
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
		d.cutShort(ctx, err)
		return d, err
	}
	var failed error
	if d.Effects, failed = b.effects(d.Capacity); failed != nil {
		d.cutShort(ctx, failed)
		return d, failed
	}
	d.conclude(b)
	return d, err
}

// cutShort leaves what was made, and nothing that could be taken for a result.
func (d *Document) cutShort(ctx context.Context, why error) {
	d.State = Failed
	if ctx.Err() != nil {
		d.State = Interrupted
	}
	d.Effects, d.Capacity = []Effect{}, []Capacity{}
	d.Sentence = fmt.Sprintf("%s after %s of %d: nothing can be said", d.State, count(len(d.Runs), "run"), len(d.Variants)*d.Pairs)
	d.Limitations = append(d.Limitations, d.State+": "+firstLine(why))
}

// conclude adds what is said of the experiment as a whole.
func (d *Document) conclude(b bench) {
	for i, e := range d.Effects {
		if i > 0 {
			d.Sentence += "; "
		}
		d.Sentence += e.Variant + ": " + string(e.Outcome)
	}
	if whole := len(b.whole); whole < d.Pairs {
		d.Limitations = append(d.Limitations, fmt.Sprintf("%d of %s could be judged whole: this machine was too busy for the experiment", whole, count(d.Pairs, "round")))
	} else if n := len(b.dropped); n > 0 {
		d.Limitations = append(d.Limitations, fmt.Sprintf("%s made again, because a run in it could not be judged: that says nothing of how it came out", count(n, "round")))
	}
	if len(d.Capacity) > 0 {
		d.Limitations = append(d.Limitations, "each capacity is of one search: its bounds are no interval of confidence")
	}
	for _, c := range d.Capacity {
		if c.State != search.Found.String() {
			d.Limitations = append(d.Limitations, c.Variant+": "+c.Sentence)
		}
	}
}

// bench is an experiment under way.
type bench struct {
	e       spec.Experiment
	a       Asked
	loop    Loop
	runs    []Made
	whole   map[int]bool // rounds that may be compared
	dropped []string     // why the others may not
	spent   time.Duration
}

// rounds makes as many whole rounds as were asked for.
func (b *bench) rounds(ctx context.Context) error {
	b.whole = map[int]bool{}
	last := ""
	for round := 0; len(b.whole) < b.a.Pairs && len(b.dropped) <= spareRounds(b.a.Pairs); round++ {
		invalid := ""
		for _, t := range Round(len(b.e.Variants), round, b.a.Seed) {
			b.loop.Tell(b.progress(&t, last))
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
		b.whole[round+1] = true
	}
	b.loop.Tell(b.progress(nil, last))
	return nil
}

func (b *bench) progress(next *Turn, dropped string) Progress {
	n := len(b.e.Variants)
	p := Progress{Next: next, Made: len(b.runs), Of: n * (b.a.Pairs + len(b.dropped)), Dropped: dropped}
	if p.Made > 0 {
		p.Left = b.spent / time.Duration(p.Made) * time.Duration(p.Of-p.Made)
	}
	return p
}

// turn makes one run with its variant in place.
func (b *bench) turn(ctx context.Context, t Turn) (m Made, err error) {
	v, begun := b.e.Variants[t.Variant], time.Now()
	var c compare.Run
	err = b.under(ctx, v, func() (err error) {
		m, c, err = b.loop.Make(ctx, t, v)
		return err
	})
	if err == nil {
		err = context.Cause(ctx) // a run that was cut short is none
	}
	if err != nil {
		return m, err
	}
	took := time.Since(begun)
	b.spent += took
	m.Variant, m.Round, m.Seed, m.Seconds, m.compared = v.Name, t.Round+1, t.Seed, took.Round(100*time.Millisecond).Seconds(), c
	if v.Readers > 0 {
		read := b.loop.Read()
		m.Readers = &read
	}
	b.runs = append(b.runs, m)
	return m, nil
}

// under does something with a variant in place, and takes it back.
func (b *bench) under(ctx context.Context, v spec.Variant, do func() error) error {
	err := b.loop.Apply(ctx, v)
	if err == nil {
		err = do()
	}
	return errors.Join(err, b.loop.Revert())
}

// effects compares each variant with the control, over the whole rounds.
func (b *bench) effects(capacities []Capacity) (all []Effect, err error) {
	control := b.group(b.e.Control().Name)
	for i, v := range b.e.Variants[1:] {
		e, err := Conclude(control, b.group(v.Name), b.a.Primary, b.a.Tolerance)
		if err != nil {
			var known bool
			if e, known = nothingCompared(err); !known {
				return nil, err
			}
		} else {
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

// group are the runs of a variant in whole rounds.
func (b *bench) group(variant string) compare.Group {
	g := compare.Group{Name: variant}
	for _, r := range b.runs {
		if r.Variant == variant && b.whole[r.Round] {
			g.Runs = append(g.Runs, r.compared)
		}
	}
	return g
}
