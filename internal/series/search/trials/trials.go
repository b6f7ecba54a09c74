package trials

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"time"

	"al.essio.dev/pkg/shellescape"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/sealed"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/series/search"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
)

// File is the name of the search's document in its folder.
const File = sealed.SearchFile

// Trials makes the trials of one search.
type Trials struct {
	Parameters search.Parameters
	Profile    spec.Profile      // shortened
	Changed    map[string]string // its changed keys, with their values
	Options    run.Options       // common to all trials
	Dir        string            // of the search
	Console    *trial.Console
	Label      string // in progress messages, instead of the profile's name; may be empty
	Limitation string // added to those of each trial; may be empty
	// Turn is called around each trial; nil: trials need not wait for their turn.
	Turn func(context.Context, func() error) error

	made     int // trials so far
	reported int // of them
}

// New returns the trials of a search for a profile's highest rate. Of a it takes ID,
// workers, seed, goal, and first and highest rate. short and changed are those of
// search.Shorten.
func New(a search.Parameters, short spec.Profile, changed map[string]string) *Trials {
	a.Profile, a.Unit, a.Seconds = short.Name, short.Unit(), short.TargetHold().Seconds()
	a.Goal.Spare = search.DefaultSpare
	// The lowest load must still schedule a transaction.
	a.Range.Floor = max(a.Range.From*search.FloorShare, min(a.Range.From, 1/a.Seconds))
	return &Trials{Parameters: a, Profile: short, Changed: changed}
}

// CheckRate refuses an option's rate at which the profile cannot run.
func CheckRate(option string, p spec.Profile, rate float64) error {
	if !(rate > 0 && rate <= spec.MaxRate) {
		return hint.With(fmt.Errorf("%s %s: want a rate above 0 and up to %d per second", option, quantity.Exact(rate), int(spec.MaxRate)), fmt.Sprintf("like: %s %s", option, quantity.Exact(p.Target())))
	}
	if _, err := p.WithRate(rate); err != nil {
		return fmt.Errorf("%s: %w", option, err)
	}
	return nil
}

// CheckParameters refuses a search that could not decide anything.
func (t *Trials) CheckParameters() error {
	if err := t.Parameters.CheckSamples(t.Profile); err != nil {
		return err
	}
	if _, err := search.New(t.Parameters.Goal, t.Parameters.Range); err != nil {
		return fmt.Errorf("plan the search: %w", err)
	}
	return nil
}

// Search searches until the end, until ctx is done or something fails. confirm
// returns the command that would certify a rate; nil: there is none.
func (t *Trials) Search(ctx context.Context, confirm func(rate float64) string) (search.Document, error) {
	t.printf("%s from %s/s, trials of %s, until the bounds are %s apart",
		t.Profile.Name, quantity.Exact(t.Parameters.Range.From), time.Duration(t.Parameters.Seconds*float64(time.Second)), quantity.Format(t.Parameters.Goal.Width, "share"))
	loop := search.Loop{Trial: t.trial, Keep: t.keep, Confirm: confirm}
	if t.Turn != nil {
		loop.Trial = func(ctx context.Context, rate float64) (p search.Probe, err error) {
			err = t.Turn(ctx, func() error {
				p, err = t.trial(ctx, rate)
				return err
			})
			return p, err
		}
	}
	d, err := search.Run(ctx, t.Parameters, loop)
	if err != nil && len(d.Probes) > 0 && ctx.Err() == nil {
		t.printf("results so far: %s", t.File())
	}
	return d, err
}

// options returns the options of the next trial's run.
func (t *Trials) options(rate float64) (run.Options, error) {
	p, err := t.Profile.WithRate(rate)
	if err != nil {
		return run.Options{}, fmt.Errorf("plan a trial at %s/s: %w", quantity.Exact(rate), err)
	}
	o := t.Options
	o.ID, o.Profile, o.Seed, o.Scope = trial.NewID(p.Name), p, t.Parameters.Seed+uint64(t.made), spec.ScopeTrial
	o.Dir = filepath.Join(t.Dir, o.ID)
	o.Overrides = maps.Clone(t.Changed)
	o.Overrides["rate"] = strconv.FormatFloat(rate, 'g', -1, 64) // exactly, so that the record can be compared with it
	o.Limitations = []string{"a trial of " + t.Parameters.ID + ", which chose its rate by the results of other trials: it certifies nothing"}
	if t.Limitation != "" {
		o.Limitations = append(o.Limitations, t.Limitation)
	}
	return o, nil
}

// Check finds what would keep a trial at the lowest rate, and so at any, from
// starting.
func (t *Trials) Check(ctx context.Context) error { return t.check(ctx, t.Parameters.Range.Floor) }

// CheckMachine finds what this machine lacks for a trial at the lowest rate.
func (t *Trials) CheckMachine() error {
	o, err := t.options(t.Parameters.Range.Floor)
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

// trial makes one run. Its folder gets no certificate.
func (t *Trials) trial(ctx context.Context, rate float64) (search.Probe, error) {
	o, err := t.options(rate)
	if err != nil {
		return search.Probe{}, err
	}
	t.made++
	start := time.Now()
	p := search.Probe{Rate: rate, Run: o.ID, Folder: o.ID, Seed: o.Seed, Started: start.UTC().Truncate(time.Second)}
	result, err := trial.Run(ctx, o, t.Console.Progress(fmt.Sprintf("%s at %s/s, trial %d", cmp.Or(t.Label, o.Profile.Name), quantity.Exact(rate), t.made)))
	if err != nil {
		if ctx.Err() != nil {
			return search.Probe{}, err
		}
		return t.startFailed(ctx, p, err)
	}
	p.Judge(result.Verdict)
	t.rest(ctx, search.Rest(result.Verdict))
	p.Seconds = time.Since(start).Round(100 * time.Millisecond).Seconds()
	return p, nil
}

// rest leaves the system without load for some time.
func (t *Trials) rest(ctx context.Context, d time.Duration) {
	if d == 0 {
		return
	}
	t.printf("pausing for %s, while the system finishes abandoned transactions", d.Round(time.Second))
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// startFailed handles a run that did not start. If a run at the lowest rate would
// start, the load is above the generator's limit; any other failure ends the search.
func (t *Trials) startFailed(ctx context.Context, p search.Probe, err error) (search.Probe, error) {
	if t.check(ctx, p.Rate) == nil || t.Check(ctx) != nil {
		return search.Probe{}, err
	}
	p.Folder, p.Result, p.Claim = "", search.Refused, mask.Text(err.Error())
	return p, nil
}

// keep writes the document, and reports the last trial and the bracket.
func (t *Trials) keep(d search.Document) error {
	data, err := d.Marshal()
	if err != nil {
		return err
	}
	if err := record.WriteFile(t.File(), data); err != nil {
		return hint.With(err, "free some disk space and search again; the run folders of the trials so far are in "+t.Dir)
	}
	if t.reported == len(d.Probes) {
		return nil
	}
	t.reported = len(d.Probes)
	last := d.Probes[t.reported-1]
	text := fmt.Sprintf("%s/s: %s", quantity.Exact(last.Rate), last.Verdict)
	if last.Verdict == "" {
		text = fmt.Sprintf("%s/s could not start: %s", quantity.Exact(last.Rate), last.Claim)
	}
	if last.Decisive != nil {
		text += ", " + last.Decisive.Text()
	}
	t.printf("%s", text)
	t.printf("highest rate within the SLOs: %s%s", d.Bracket(), remaining(d))
	return nil
}

// File is the path of the document.
func (t *Trials) File() string { return filepath.Join(t.Dir, File) }

// remaining is the estimated number of trials left, with their duration.
func remaining(d search.Document) string {
	n := d.TrialsLeft()
	if n == 0 {
		return ""
	}
	sum, runs := 0.0, 0
	for _, p := range d.Probes {
		if p.Folder != "" {
			sum, runs = sum+p.Seconds, runs+1
		}
	}
	text := "; about 1 trial left"
	if n != 1 {
		text = fmt.Sprintf("; about %d trials left", n)
	}
	if runs > 0 {
		text += fmt.Sprintf(", %s", time.Duration(sum/float64(runs)*float64(n)*float64(time.Second)).Round(time.Second))
	}
	return text
}

func (t *Trials) printf(format string, args ...any) {
	name := "search"
	if t.Label != "" {
		name += " of " + t.Label
	}
	t.Console.Say(name+": "+format, args...)
}

// CertifyCommand is the command that would certify a profile at a rate, with the
// options that select the system under test.
func CertifyCommand(p spec.Profile, rate float64, options []string) string {
	words := []string{"assay", "certify", p.Name, "--rate", quantity.Exact(rate)}
	if !p.HasStages() {
		words = append(words, "--hold", fmt.Sprintf("%.0fs", max(rulebook.CertificateHold, p.TargetHold()).Seconds()))
	}
	words = append(words, options...)
	return shellescape.QuoteCommand(words)
}
