package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/harness/judge/verdict"
	"assay/harness/lab/search"
	"assay/harness/observe/record"
	"assay/harness/run"
	"assay/harness/spec"
)

// trials makes the trials of one search.
type trials struct {
	ground
	flags   *searchFlags
	command *cobra.Command
	file    spec.File
	profile spec.Profile
	short   spec.Profile      // the profile as trials run it
	changed map[string]string // of it
	asked   search.Asked
	dir     string
	made    int // so far
	told    int // of them
	notes   map[string]bool

	label      string // of what is searched, where several are
	limitation string // of every trial, beside that it is one
}

// options are those of the next trial's run.
func (t *trials) options(rate float64) (run.Options, error) {
	p, err := t.short.WithRate(rate)
	if err != nil {
		return run.Options{}, fmt.Errorf("a trial at %.12g/s: %w", rate, err)
	}
	changed := maps.Clone(t.changed)
	changed["rate"] = fmt.Sprintf("%.12g", rate)
	id := runID(p.Name)
	return run.Options{
		ID: id, Dir: filepath.Join(t.dir, id), File: t.file, Profile: p, Overrides: changed, Workers: t.flags.workers,
		Seed: t.asked.Seed + uint64(t.made), Target: t.flags.target, AllowHosts: t.flags.allow, Journal: t.flags.runs, Scope: spec.Smoke,
		Executable: t.executable, Tool: tool(),
		Limitations: t.limitations(),
	}, nil
}

func (t *trials) limitations() []string {
	all := []string{"a trial of " + t.asked.ID + ": its rate was chosen by how others came out, so that it certifies nothing"}
	if t.limitation != "" {
		all = append(all, t.limitation)
	}
	return all
}

// trial runs one load and judges it in memory: no certificate stands in the
// folder of a trial.
func (t *trials) trial(ctx context.Context, rate float64) (search.Probe, error) {
	o, err := t.options(rate)
	if err != nil {
		return search.Probe{}, err
	}
	t.furnish(ctx, &o)
	t.made++
	bar := newProgress(t.command.ErrOrStderr(), fmt.Sprintf("%s at %.12g/s, trial %d", cmp.Or(t.label, o.Profile.Name), rate, t.made), t.flags.quiet)
	o.Progress = func(e run.Event) {
		if e.Kind != run.Note || t.first(e.Text) {
			bar.tell(e)
		}
	}
	p := search.Probe{Rate: rate, Run: o.ID, Folder: o.ID, Seed: o.Seed, Started: time.Now().UTC().Truncate(time.Second)}
	begun := time.Now()
	err = run.Run(ctx, o)
	bar.end()
	if err != nil {
		if ctx.Err() != nil {
			return search.Probe{}, err
		}
		return t.refused(ctx, p, err)
	}
	r, err := record.Open(o.Dir)
	if err != nil {
		return search.Probe{}, err
	}
	v := verdict.Judge(r)
	if o.View != nil {
		if err := showVerdict(ctx, o.View, judged{r, v}); err != nil {
			bar.tell(run.Event{Kind: run.Note, Text: "the verdict is not shown: " + err.Error()})
		}
	}
	p.Judge(v)
	t.rest(ctx, search.Rest(v))
	p.Seconds = time.Since(begun).Round(100 * time.Millisecond).Seconds()
	return p, nil
}

// rest leaves the system alone.
func (t *trials) rest(ctx context.Context, d time.Duration) {
	if d == 0 {
		return
	}
	t.say("the system is left alone for %s, to work off what it has", d.Round(time.Second))
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// first reports whether a note is new: trials are much alike.
func (t *trials) first(note string) bool {
	known := t.notes[note]
	t.notes[note] = true
	return !known
}

// refused tells whether it is the load that keeps a run from starting: then the
// least one of the search would start. That is the generator's limit; all else
// ends the search.
func (t *trials) refused(ctx context.Context, p search.Probe, err error) (search.Probe, error) {
	if t.check(ctx, p.Rate) == nil || t.check(ctx, t.asked.Range.Floor) != nil {
		return search.Probe{}, err
	}
	p.Folder, p.Result, p.Claim = "", search.Refused, err.Error()
	return p, nil
}

// check finds what would keep a trial of a load from starting.
func (t *trials) check(ctx context.Context, rate float64) error {
	o, err := t.options(rate)
	if err != nil {
		return err
	}
	t.furnish(ctx, &o)
	return run.Check(ctx, o)
}

// keep writes search.json whole, and tells how the bracket narrows.
func (t *trials) keep(d search.Document) error {
	data, err := d.Marshal()
	if err != nil {
		return err
	}
	if err := record.WriteFile(filepath.Join(t.dir, searchFile), data); err != nil {
		return &run.Error{Err: err, Hint: "make room and search again; the trials so far are run folders in " + t.dir}
	}
	if t.told == len(d.Probes) {
		return nil
	}
	t.told = len(d.Probes)
	last := d.Probes[t.told-1]
	text := fmt.Sprintf("%.12g/s: %s", last.Rate, last.Verdict)
	if last.Verdict == "" {
		text = fmt.Sprintf("%.12g/s cannot be made here: %s", last.Rate, last.Claim)
	}
	if last.Decisive != nil {
		text += ", " + last.Decisive.Text()
	}
	t.say("%s", text)
	t.say("highest rate within the SLOs: %s%s", d.Bracket(), t.left(d))
	return nil
}

// left is about how long the search will take.
func (t *trials) left(d search.Document) string {
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

func (t *trials) say(format string, args ...any) {
	if !t.flags.quiet {
		fmt.Fprintf(t.command.ErrOrStderr(), strings.TrimSuffix("search of "+t.label, " of ")+": "+format+"\n", args...)
	}
}
