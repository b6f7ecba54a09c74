package trials

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"assay/harness/hint"
	"assay/harness/lab/search"
	"assay/harness/observe/record"
	"assay/harness/quantity"
	"assay/harness/run"
	"assay/harness/spec"
	"assay/harness/trial"
)

// File is the search's document, in the folder of the search.
const File = "search.json"

// Trials makes the trials of one search.
type Trials struct {
	Asked      search.Asked
	Profile    spec.Profile      // as trials run it
	Changed    map[string]string // what that changes of the profile
	Options    run.Options       // shared by all trials
	Dir        string            // of the search
	Console    *trial.Console
	Label      string // of what is searched, where several are; may be empty
	Limitation string // of each trial, beside that it is one; may be empty

	made int // so far
	told int // of them
}

// New are the trials of a search for a profile's highest rate; a names its ID,
// workers, seed, goal and first and highest rate. short is the profile as trials run
// it, changed what that changes.
func New(a search.Asked, short spec.Profile, changed map[string]string) *Trials {
	a.Profile, a.Unit, a.Seconds = short.Name, short.Load.Unit, short.TargetHold().Seconds()
	a.Goal.Spare = search.DefaultSpare
	// The least must still schedule a transaction.
	a.Range.Floor = max(a.Range.From*search.FloorShare, min(a.Range.From, 1/a.Seconds))
	return &Trials{Asked: a, Profile: short, Changed: changed}
}

// CheckRate refuses a rate, the value of an option, at which the profile cannot run.
func CheckRate(option string, p spec.Profile, rate float64) error {
	if !(rate > 0 && rate <= spec.MaxRate) {
		return hint.With(fmt.Errorf("%s is %s: a rate above 0 and up to %d a second", option, quantity.Exact(rate), int(spec.MaxRate)), fmt.Sprintf("like: %s %s", option, quantity.Exact(p.Target())))
	}
	if _, err := p.WithRate(rate); err != nil {
		return fmt.Errorf("%s: %w", option, err)
	}
	return nil
}

// CheckAsked refuses a search that could tell nothing.
func (t *Trials) CheckAsked() error {
	if err := t.Asked.CanTell(t.Profile.SLOs); err != nil {
		return err
	}
	if _, err := search.New(t.Asked.Goal, t.Asked.Range); err != nil {
		return fmt.Errorf("this cannot be searched for: %w", err)
	}
	return nil
}

// Search searches until the end, until ctx is done or something fails. confirm is
// the command that would certify a rate; empty: none.
func (t *Trials) Search(ctx context.Context, confirm func(rate float64) string) (search.Document, error) {
	return t.SearchInTurns(ctx, confirm, func(_ context.Context, make func() error) error { return make() })
}

// SearchInTurns searches likewise; turn is called around each trial.
func (t *Trials) SearchInTurns(ctx context.Context, confirm func(rate float64) string, turn func(context.Context, func() error) error) (search.Document, error) {
	t.say("%s from %s/s, trials of %s, until the bounds are %s apart",
		t.Profile.Name, quantity.Exact(t.Asked.Range.From), time.Duration(t.Asked.Seconds*float64(time.Second)), quantity.Format(t.Asked.Goal.Width, "share"))
	d, err := search.Run(ctx, t.Asked, search.Loop{
		Trial: func(ctx context.Context, rate float64) (p search.Probe, err error) {
			err = turn(ctx, func() error {
				p, err = t.trial(ctx, rate)
				return err
			})
			return p, err
		},
		Keep: t.keep, Confirm: confirm,
	})
	if err != nil && len(d.Probes) > 0 && ctx.Err() == nil {
		t.say("what there is so far: %s", t.File())
	}
	return d, err
}

// options are those of the next trial's run.
func (t *Trials) options(rate float64) (run.Options, error) {
	p, err := t.Profile.WithRate(rate)
	if err != nil {
		return run.Options{}, fmt.Errorf("a trial at %s/s: %w", quantity.Exact(rate), err)
	}
	o := t.Options
	o.ID, o.Profile, o.Seed, o.Scope = trial.NewID(p.Name), p, t.Asked.Seed+uint64(t.made), spec.ScopeSmoke
	o.Dir = filepath.Join(t.Dir, o.ID)
	o.Overrides = maps.Clone(t.Changed)
	o.Overrides["rate"] = quantity.Exact(rate)
	o.Limitations = []string{"a trial of " + t.Asked.ID + ": its rate was chosen by how others came out, so that it certifies nothing"}
	if t.Limitation != "" {
		o.Limitations = append(o.Limitations, t.Limitation)
	}
	return o, nil
}

// Check finds what would keep a trial of the least rate from starting: then no
// rate can be tried.
func (t *Trials) Check(ctx context.Context) error { return t.check(ctx, t.Asked.Range.Floor) }

// CheckMachine finds what this machine lacks for it.
func (t *Trials) CheckMachine() error {
	o, err := t.options(t.Asked.Range.Floor)
	if err != nil {
		return err
	}
	return run.CheckMachine(o)
}

func (t *Trials) check(ctx context.Context, rate float64) error {
	o, err := t.options(rate)
	if err != nil {
		return err
	}
	return run.Check(ctx, o)
}

// trial makes one run. No certificate stands in the folder of a trial.
func (t *Trials) trial(ctx context.Context, rate float64) (search.Probe, error) {
	o, err := t.options(rate)
	if err != nil {
		return search.Probe{}, err
	}
	t.made++
	begun := time.Now()
	p := search.Probe{Rate: rate, Run: o.ID, Folder: o.ID, Seed: o.Seed, Started: begun.UTC().Truncate(time.Second)}
	result, err := trial.Run(ctx, o, t.Console.Progress(fmt.Sprintf("%s at %s/s, trial %d", cmp.Or(t.Label, o.Profile.Name), quantity.Exact(rate), t.made)))
	if err != nil {
		if ctx.Err() != nil {
			return search.Probe{}, err
		}
		return t.refused(ctx, p, err)
	}
	p.Judge(result.Verdict)
	t.rest(ctx, search.Rest(result.Verdict))
	p.Seconds = time.Since(begun).Round(100 * time.Millisecond).Seconds()
	return p, nil
}

// rest leaves the system without load.
func (t *Trials) rest(ctx context.Context, d time.Duration) {
	if d == 0 {
		return
	}
	t.say("the system is left alone for %s, to work off what it has", d.Round(time.Second))
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// refused tells whether it is the load that keeps a run from starting: then the
// least rate of the search would start. That is the generator's limit; all else
// ends the search.
func (t *Trials) refused(ctx context.Context, p search.Probe, err error) (search.Probe, error) {
	if t.check(ctx, p.Rate) == nil || t.Check(ctx) != nil {
		return search.Probe{}, err
	}
	p.Folder, p.Result, p.Claim = "", search.Refused, err.Error()
	return p, nil
}

// keep writes the document whole, and tells how the bracket narrows.
func (t *Trials) keep(d search.Document) error {
	data, err := d.Marshal()
	if err != nil {
		return err
	}
	if err := record.WriteFile(t.File(), data); err != nil {
		return hint.With(err, "make room and search again; the trials so far are run folders in "+t.Dir)
	}
	if t.told == len(d.Probes) {
		return nil
	}
	t.told = len(d.Probes)
	last := d.Probes[t.told-1]
	text := fmt.Sprintf("%s/s: %s", quantity.Exact(last.Rate), last.Verdict)
	if last.Verdict == "" {
		text = fmt.Sprintf("%s/s cannot be made here: %s", quantity.Exact(last.Rate), last.Claim)
	}
	if last.Decisive != nil {
		text += ", " + last.Decisive.Text()
	}
	t.say("%s", text)
	t.say("highest rate within the SLOs: %s%s", d.Bracket(), remaining(d))
	return nil
}

// File is the path of the document.
func (t *Trials) File() string { return filepath.Join(t.Dir, File) }

// remaining is about how long the search will take.
func remaining(d search.Document) string {
	n, known := d.Left()
	if !known {
		return ""
	}
	sum, of := 0.0, 0
	for _, p := range d.Probes {
		if p.Folder != "" {
			sum, of = sum+p.Seconds, of+1
		}
	}
	text := "; about 1 trial is left"
	if n != 1 {
		text = fmt.Sprintf("; about %d trials are left", n)
	}
	if of > 0 {
		text += fmt.Sprintf(", %s", time.Duration(sum/float64(of)*float64(n)*float64(time.Second)).Round(time.Second))
	}
	return text
}

func (t *Trials) say(format string, args ...any) {
	name := "search"
	if t.Label != "" {
		name += " of " + t.Label
	}
	t.Console.Say(name+": "+format, args...)
}
