package search

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"time"

	"al.essio.dev/pkg/shellescape"

	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/sealed"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
)

// Trials makes the trials of one search.
type Trials struct {
	Parameters Parameters
	Profile    spec.Profile      // shortened
	Changed    map[string]string // its changed keys, with their values
	Options    run.Options       // common to all trials
	Dir        string            // folder of the search
	Console    *trial.Console
	Label      string // in progress messages, instead of the profile's name; may be empty
	Limitation string // added to those of each trial; may be empty
	// Turn is called around each trial; nil: trials need not wait for their turn.
	Turn func(context.Context, func() error) error

	made     int // trials so far
	reported int // trials that have been reported
}

// NewTrials returns the trials of a search for a profile's highest rate. Of a it takes ID,
// workers, seed, goal, and first and highest rate. short and changed are those of
// Shorten.
func NewTrials(a Parameters, short spec.Profile, changed map[string]string) *Trials {
	a.Profile, a.Unit, a.Seconds = short.Name, short.Unit(), short.TargetHold().Seconds()
	a.Goal.Spare = DefaultSpare
	// The lowest load must still schedule a transaction.
	a.Range.Floor = max(a.Range.From*FloorShare, min(a.Range.From, 1/a.Seconds))
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
	if _, err := New(t.Parameters.Goal, t.Parameters.Range); err != nil {
		return fmt.Errorf("plan the search: %w", err)
	}
	return nil
}

// Search searches until the end, until ctx is done or something fails. confirm
// returns the command that would certify a rate; nil: there is none.
func (t *Trials) Search(ctx context.Context, confirm func(rate float64) string) (Document, error) {
	t.printf("%s from %s/s, trials of %s, until the bounds are %s apart",
		t.Profile.Name, quantity.Exact(t.Parameters.Range.From), time.Duration(t.Parameters.Seconds*float64(time.Second)), quantity.Format(t.Parameters.Goal.Width, "share"))
	loop := Loop{Trial: t.trial, Keep: t.keep, Confirm: confirm}
	if t.Turn != nil {
		loop.Trial = func(ctx context.Context, rate float64, times int) (p Probe, err error) {
			err = t.Turn(ctx, func() error {
				p, err = t.trial(ctx, rate, times)
				return err
			})
			return p, err
		}
	}
	d, err := Run(ctx, t.Parameters, loop)
	if err != nil && len(d.Probes) > 0 && ctx.Err() == nil {
		t.printf("results so far: %s", t.File())
	}
	return d, err
}

// options are those of a trial at a rate, a number of times as long as the first. It is no
// longer than a certificate's hold because of that, and stages have their own lengths.
func (t *Trials) options(rate float64, times int) (run.Options, error) {
	o := t.Options
	o.Overrides = maps.Clone(t.Changed)
	p, err := t.Profile.WithRate(rate)
	if hold := p.TargetHold(); err == nil && times > 1 && !p.HasStages() {
		hold = max(hold, min(hold*time.Duration(times), rulebook.CertificateHold))
		p, err = p.WithHold(hold)
		o.Overrides["hold"] = hold.String()
	}
	if err != nil {
		return run.Options{}, fmt.Errorf("plan a trial at %s/s: %w", quantity.Exact(rate), err)
	}
	o.ID, o.Profile, o.Seed, o.Scope = trial.NewID(p.Name), p, t.Parameters.Seed+uint64(t.made), spec.ScopeTrial
	o.Dir = filepath.Join(t.Dir, o.ID)
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
	o, err := t.options(t.Parameters.Range.Floor, 1)
	if err != nil {
		return err
	}
	return run.CheckMachine(o)
}

func (t *Trials) check(ctx context.Context, rate float64) error {
	o, err := t.options(rate, 1)
	if err != nil {
		return err
	}
	return run.Check(ctx, o)
}

// trial makes one run. Its folder gets no certificate.
func (t *Trials) trial(ctx context.Context, rate float64, times int) (Probe, error) {
	o, err := t.options(rate, times)
	if err != nil {
		return Probe{}, err
	}
	t.made++
	start := time.Now()
	p := Probe{
		Rate: rate, Run: o.ID, Folder: o.ID, Seed: o.Seed, Started: start.UTC().Truncate(time.Second), Judged: o.Profile.TargetHold().Seconds(),
	}
	result, err := trial.Run(ctx, o, t.Console.Progress(fmt.Sprintf("%s at %s/s, trial %d", cmp.Or(t.Label, o.Profile.Name), quantity.Exact(rate), t.made)))
	if err != nil {
		if ctx.Err() != nil {
			return Probe{}, err
		}
		// If a run at the lowest rate would start, the load is above the generator's limit; any
		// other failure ends the search.
		if t.check(ctx, rate) == nil || t.Check(ctx) != nil {
			return Probe{}, err
		}
		p.Folder, p.Result, p.Claim = "", Refused, mask.Text(err.Error())
		return p, nil
	}
	p.Judge(result.Verdict)
	t.rest(ctx, Rest(result.Verdict))
	p.Seconds = time.Since(start).Round(100 * time.Millisecond).Seconds()
	return p, nil
}

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

// keep writes the document, and reports the last trial and the bracket.
func (t *Trials) keep(d Document) error {
	data, err := document.Marshal(d)
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
	t.printf("highest rate within the SLOs: %s%s", d.between(), remaining(d))
	return nil
}

// File is the path of the document.
func (t *Trials) File() string { return filepath.Join(t.Dir, sealed.SearchFile) }

func remaining(d Document) string {
	n := d.trialsLeft
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

// Headroom searches for the highest rate within the SLOs, after a run that passed: from its
// target upwards, each flow at its target and all of them in proportion, without the shape
// of an event, by trials of a length. Trials and document are in the run's folder
// (sealed.HeadroomDir). Its result is no part of what the certificate claims.
func Headroom(ctx context.Context, passed run.Options, length time.Duration, c *trial.Console) (Document, error) {
	t, err := headroom(passed, length)
	if err != nil {
		return Document{}, fmt.Errorf("headroom: %w", err)
	}
	t.Console = &trial.Console{W: c.W, Quiet: c.Quiet, Once: true}
	return t.Search(ctx, nil)
}

// CheckHeadroom refuses a profile with which Headroom could decide nothing.
func CheckHeadroom(o run.Options, length time.Duration) error {
	t, err := headroom(o, length)
	if err == nil {
		err = t.CheckParameters()
	}
	if err != nil {
		return fmt.Errorf("headroom: %w", err)
	}
	return nil
}

func headroom(passed run.Options, length time.Duration) (*Trials, error) {
	p := passed.Profile.Level(length)
	p.Faults, p.Invariants = nil, nil
	p.Common = withoutFaults(p.Common)
	for i := range p.Flows {
		p.Flows[i].SLOs = withoutFaults(p.Flows[i].SLOs)
	}
	short, changed, err := Shorten(p, length)
	if err != nil {
		return nil, err
	}
	t := NewTrials(Parameters{
		ID: "headroom-of-" + passed.ID, Workers: passed.Workers, Seed: passed.Seed + 1, Target: passed.Target,
		Goal: Goal{Trials: spec.DefaultTrials, Width: spec.DefaultWidth}, Range: Range{From: p.Target(), Max: spec.MaxRate},
	}, short, changed)
	t.Options, t.Dir, t.Label = passed, filepath.Join(passed.Dir, sealed.HeadroomDir), passed.Profile.Name+", headroom"
	return t, nil
}

// withoutFaults are the SLOs that do not depend on faults or on the end of the load.
func withoutFaults(slos []spec.SLO) (kept []spec.SLO) {
	for _, s := range slos {
		if s.Kind() != spec.KindRecovery && s.Kind() != spec.KindInvariants {
			kept = append(kept, s)
		}
	}
	return kept
}
