package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/series/experiment"
	"assay.dev/assay/internal/series/experiment/change"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/thresholds"
	"assay.dev/assay/internal/trial"
)

// File is the name of the experiment's document in its folder.
const File = "experiment.json"

// Session is one experiment.
type Session struct {
	Experiment spec.Experiment // with the command line's overrides
	Profile    spec.Profile    // with the load of the experiment and the command line
	Parameters experiment.Parameters
	Options    run.Options // common to all runs
	Dir        string      // of the experiment
	Console    *trial.Console

	changed map[string]string // keys of the profile that the experiment changes
}

// Request holds the values of the command line.
type Request struct {
	Overrides Overrides
	Load      trial.LoadChange
	Options   run.Options // common to all runs; File, Workers, Target and Runs are used here
	Seed      uint64      // used if the file has none
	Dir       string      // of the experiment; empty: a new one in the folder of runs
	Console   *trial.Console
}

// Open reads an experiment's file, and checks all that can be checked without the
// target and the database.
func Open(ctx context.Context, path string, r Request) (*Session, error) {
	data, err := foreign.ReadText(ctx, path, spec.MaxBytes)
	if err != nil {
		return nil, hint.With(fmt.Errorf("read experiment: %w", err), "name its file, like: scenarios/experiments/binlog-off.json")
	}
	e, err := spec.DecodeExperiment(path, data)
	if err != nil {
		return nil, err
	}
	if err := thresholds.CheckSecrets(path, data); err != nil {
		return nil, err
	}
	if e, err = r.Overrides.Apply(e, r.Options.Target); err != nil {
		return nil, err
	}
	p, err := r.Options.File.Profile(e.Profile)
	if err != nil {
		return nil, err
	}
	if p, err = e.Load.Apply(p); err != nil {
		return nil, fmt.Errorf("%s: %w", e.Path, err)
	}
	if p, err = r.Load.Apply(p); err != nil {
		return nil, err
	}
	s := &Session{Experiment: e, Profile: p, Options: r.Options, Dir: r.Dir, Console: r.Console}
	s.Options.Workers = cmp.Or(e.Load.Workers, s.Options.Workers)
	if e.Seed != nil {
		r.Seed = *e.Seed
	}
	s.Parameters = experiment.Parameters{
		ID: trial.NewID("experiment-" + e.Name), Name: e.Name, File: filepath.ToSlash(e.Path), SHA256: strings.TrimPrefix(e.Digest, "sha256:"),
		Description: e.Description, Question: e.Question, Source: e.Source, Profile: p.Name, Unit: p.Unit(), Rate: p.Target(),
		Workers: s.Options.Workers, Pairs: e.Pairs, Tolerance: e.Tolerance, Seed: r.Seed, Primary: e.Primary, Started: time.Now().UTC().Truncate(time.Second),
	}
	s.changed = map[string]string{"experiment": e.Name, "rate": quantity.Exact(p.Target())}
	if !p.HasStages() {
		s.changed["hold"] = p.TargetHold().String()
	}
	if s.Dir == "" {
		s.Dir = filepath.Join(r.Options.Runs, s.Parameters.ID)
	}
	if err := record.CheckEmpty(s.Dir); err != nil {
		return nil, err
	}
	return s, s.checkCapacity()
}

// CheckMachine finds what this machine lacks for the runs.
func (s *Session) CheckMachine() error {
	return run.CheckMachine(s.options(experiment.Turn{}, s.Experiment.Control()))
}

// options returns the options of one run.
func (s *Session) options(t experiment.Turn, v spec.Variant) run.Options {
	o := s.Options
	o.ID, o.Profile, o.Overrides, o.Seed, o.Scope = trial.NewID(s.Profile.Name), s.Profile, s.changed, t.Seed, spec.ScopeTrial
	o.Dir = filepath.Join(s.Dir, v.Name, o.ID)
	o.Limitations = []string{s.limitation(v)}
	return o
}

// limitation says that a run's system was changed for an experiment.
func (s *Session) limitation(v spec.Variant) string {
	text := fmt.Sprintf("a run of %s, variant %s", s.Parameters.ID, v.Name)
	if all := experiment.Changes(v); len(all) > 0 {
		text += ": " + strings.Join(all, "; ")
	}
	return text
}

// Run makes the experiment on w, restores w however the experiment ended, and writes
// the result, if a run was made. The result is complete if Document.State is
// experiment.Done. If w could not be restored the error is a *change.NotRestoredError.
func (s *Session) Run(ctx context.Context, w *change.System) (experiment.Document, error) {
	if err := s.checkBefore(ctx, w); err != nil {
		return experiment.Document{}, err // nothing was changed
	}
	if err := w.Journal.Save(); err != nil {
		return experiment.Document{}, err
	}
	s.printf("%s, %s, %s at %s %s", s.Parameters.Name, quantity.Number(s.Parameters.Pairs, "pair"), s.Parameters.Profile, quantity.Exact(s.Parameters.Rate), s.Parameters.Unit)
	d, err := experiment.Run(ctx, s.Experiment, s.Parameters, experiment.Loop{
		Apply:    func(ctx context.Context, v spec.Variant) error { return s.apply(ctx, w, v) },
		Revert:   func() error { return w.Revert(ctx) },
		Read:     w.Read,
		Make:     s.makeRun,
		Search:   s.search,
		Progress: s.progress,
	})
	s.printf("restoring the system")
	if notRestored := w.Close(ctx); notRestored != nil {
		err = &change.NotRestoredError{Err: notRestored, Ended: change.Reason(err)}
	} else if change.IsUndoError(err) {
		err = cmp.Or(change.Reason(err), errors.New("reverting a variant failed, which ended the experiment; a second attempt restored the system"))
	}
	if len(d.Runs) == 0 && err != nil {
		return d, err
	}
	if writeErr := s.write(d); writeErr != nil {
		err = errors.Join(err, writeErr)
	}
	if d.State != experiment.Done {
		s.printf("%s: %s", d.Sentence, s.File())
	}
	return d, err
}

// checkBefore finds what would keep a run or a variant from starting.
func (s *Session) checkBefore(ctx context.Context, w *change.System) error {
	if err := run.Check(ctx, s.options(experiment.Turn{}, s.Experiment.Control())); err != nil {
		return err
	}
	return w.Prepare(ctx, s.Experiment.Variants)
}

// write writes the result, each file atomically.
func (s *Session) write(d experiment.Document) error {
	data, err := d.Marshal()
	if err != nil {
		return err
	}
	html, err := page.HTML(experiment.FullPage(d))
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{File, data}, {"experiment.md", page.Markdown(experiment.SummaryPage(d))}, {"experiment.html", html}} {
		if err := record.WriteFile(filepath.Join(s.Dir, f.name), f.data); err != nil {
			return hint.With(err, "free some disk space; assay compare reads the run folders in "+s.Dir)
		}
	}
	return nil
}

// File is the path of the document.
func (s *Session) File() string { return filepath.Join(s.Dir, File) }

func (s *Session) printf(format string, args ...any) { s.Console.Say("experiment: "+format, args...) }
