package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"assay/harness/judge/certificate"
	"assay/harness/judge/compare"
	"assay/harness/judge/verdict"
	"assay/harness/lab/experiment"
	"assay/harness/lab/experiment/change"
	"assay/harness/lab/search"
	"assay/harness/observe/record"
	"assay/harness/run"
	"assay/harness/spec"
)

// options are those of one run.
func (b *bench) options(t experiment.Turn, v spec.Variant, id string) (run.Options, error) {
	id = cmp.Or(id, runID(b.profile.Name))
	return run.Options{
		ID: id, Dir: filepath.Join(b.dir, v.Name, id), File: b.thresholds, Profile: b.profile, Overrides: b.changed,
		Workers: b.flags.workers, Seed: t.Seed, Target: b.flags.target, AllowHosts: b.flags.allow, Journal: b.flags.runs, Scope: spec.Smoke,
		Executable: b.executable, Tool: tool(), Limitations: []string{b.limitation(v)},
	}, nil
}

// limitation says of a run of what it is one: its settings are not those of the
// system as it is.
func (b *bench) limitation(v spec.Variant) string {
	text := fmt.Sprintf("a run of %s, variant %s", b.asked.ID, v.Name)
	if all := experiment.Changes(v); len(all) > 0 {
		text += ": " + strings.Join(all, "; ")
	}
	return text
}

// apply puts a variant in place.
func (b *bench) apply(ctx context.Context, w *change.World, v spec.Variant) error {
	if len(experiment.Changes(v)) > 0 {
		b.say("%s: %s", v.Name, strings.Join(experiment.Changes(v), "; "))
	}
	return w.Apply(ctx, v)
}

// makeRun makes one run and judges it in memory: no certificate stands in the
// folder of an experiment's run, for it is one of a system that was changed.
func (b *bench) makeRun(w *change.World) func(context.Context, experiment.Turn, spec.Variant) (experiment.Made, compare.Run, error) {
	return func(ctx context.Context, t experiment.Turn, v spec.Variant) (m experiment.Made, c compare.Run, err error) {
		o, err := b.options(t, v, "")
		if err != nil {
			return m, c, err
		}
		b.furnish(ctx, &o)
		bar := newProgress(b.command.ErrOrStderr(), v.Name, b.flags.quiet)
		o.Progress = func(e run.Event) {
			if e.Kind != run.Note || b.first(e.Text) {
				bar.tell(e)
			}
		}
		err = run.Run(ctx, o)
		bar.end()
		if err != nil {
			return m, c, err
		}
		r, err := record.Open(o.Dir)
		if err != nil {
			return m, c, err
		}
		judged := judged{r, verdict.Judge(r)}
		if o.View != nil {
			if err := showVerdict(ctx, o.View, judged); err != nil {
				bar.tell(run.Event{Kind: run.Note, Text: "the verdict is not shown: " + err.Error()})
			}
		}
		c = compare.Run{Folder: o.Dir, Certificate: certificate.Build(r, judged.verdict)}
		m = experiment.Made{
			Run: o.ID, Folder: filepath.ToSlash(filepath.Join(v.Name, o.ID)), Verdict: judged.verdict.Outcome.String(),
			Claim: judged.verdict.Claim, Invalid: compare.Invalid(c),
		}
		if named := c.Certificate.Bottleneck; named != nil {
			m.Named = named.Component
		}
		return m, c, nil
	}
}

// first reports whether a note is new: runs are much alike.
func (b *bench) first(note string) bool {
	known := b.notes[note]
	b.notes[note] = true
	return !known
}

// tell says which run is next, and how long the rest takes.
func (b *bench) tell(p experiment.Progress) {
	if p.Dropped != "" {
		b.say("the round is made again: %s", p.Dropped)
	}
	if p.Next == nil {
		return
	}
	left := ""
	if p.Left > 0 {
		left = fmt.Sprintf(", about %s left", p.Left.Round(time.Second))
		if b.file.Capacity != nil {
			left += " before the searches"
		}
	}
	b.say("run %d of %d, round %d: %s%s", p.Made+1, p.Of, p.Next.Round+1, b.file.Variants[p.Next.Variant].Name, left)
}

// searching is the search for a variant's highest rate within the SLOs.
func (b *bench) searching(v spec.Variant) (*trials, error) {
	c := b.file.Capacity
	short, changed, err := search.Shorten(b.profile, c.Trial)
	if err != nil {
		return nil, &usageError{"capacity: " + err.Error(), cmp.Or(hintOf(err), "name a profile with a hold")}
	}
	from := cmp.Or(c.From, b.profile.Target())
	seconds := judgedLength(short).Seconds()
	changed["experiment"] = b.asked.Name
	return &trials{
		ground: b.ground, flags: &searchFlags{certifyFlags: b.flags.certifyFlags}, command: b.command,
		file: b.thresholds, profile: b.profile, short: short, changed: changed, notes: b.notes, label: v.Name,
		dir: filepath.Join(b.dir, "capacity", v.Name), limitation: b.limitation(v),
		asked: search.Asked{
			ID: b.asked.ID, Profile: short.Name, Unit: short.Load.Unit, Target: b.asked.Target, Seconds: seconds,
			Workers: b.flags.workers, Seed: b.asked.Seed,
			Goal:  search.Goal{Trials: c.Trials, Width: c.Width, Spare: search.DefaultSpare},
			Range: search.Range{From: from, Max: c.Max, Floor: max(from*search.FloorShare, min(from, 1/seconds))},
		},
	}, nil
}

// search searches for a variant's highest rate, each trial in its turn.
func (b *bench) search(ctx context.Context, v spec.Variant, turn experiment.Trial) (search.Document, string, error) {
	t, err := b.searching(v)
	if err != nil {
		return search.Document{}, "", err
	}
	d, err := search.Run(ctx, t.asked, search.Loop{
		Trial: func(ctx context.Context, rate float64) (p search.Probe, err error) {
			err = turn(ctx, func() error {
				p, err = t.trial(ctx, rate)
				return err
			})
			return p, err
		},
		Keep: t.keep,
		// What a variant holds is no promise of the system as it is.
		Confirm: func(float64) string { return "" },
	})
	folder, unrelated := filepath.Rel(b.dir, t.dir)
	return d, filepath.ToSlash(folder), errors.Join(err, unrelated)
}
