package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/series/experiment/change"
	"assay.dev/assay/internal/series/search"
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
	Parameters Parameters
	Options    run.Options // common to all runs
	Dir        string      // folder of the experiment
	Console    *trial.Console

	changed map[string]string // keys of the profile that the experiment changes
}

// Request holds the values of the command line.
type Request struct {
	Overrides Overrides
	Load      trial.LoadChange
	Options   run.Options // common to all runs; File, Workers, Target and Runs are used here
	Seed      uint64      // used if the file has none
	Dir       string      // folder of the experiment; empty: a new one in the folder of runs
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
	s.Parameters = Parameters{
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
	return run.CheckMachine(s.options(Turn{}, s.Experiment.Control()))
}

func (s *Session) options(t Turn, v spec.Variant) run.Options {
	o := s.Options
	o.ID, o.Profile, o.Overrides, o.Seed, o.Scope = trial.NewID(s.Profile.Name), s.Profile, s.changed, t.Seed, spec.ScopeTrial
	o.Dir = filepath.Join(s.Dir, v.Name, o.ID)
	o.Limitations = []string{s.limitation(v)}
	return o
}

// limitation says that a run's system was changed for an experiment.
func (s *Session) limitation(v spec.Variant) string {
	text := fmt.Sprintf("a run of %s, variant %s", s.Parameters.ID, v.Name)
	if all := Changes(v); len(all) > 0 {
		text += ": " + strings.Join(all, "; ")
	}
	return text
}

// Run makes the experiment on w, restores w however the experiment ended, and writes
// the result, if a run was made. The result is complete if Document.State is
// Done. If w could not be restored the error is a *change.NotRestoredError.
func (s *Session) Run(ctx context.Context, w *change.System) (Document, error) {
	if err := run.Check(ctx, s.options(Turn{}, s.Experiment.Control())); err != nil {
		return Document{}, err // nothing was changed
	}
	if err := w.Prepare(ctx, s.Experiment.Variants); err != nil {
		return Document{}, err
	}
	if err := w.Journal.Save(); err != nil {
		return Document{}, err
	}
	s.printf("%s, %s, %s at %s %s", s.Parameters.Name, quantity.Number(s.Parameters.Pairs, "pair"), s.Parameters.Profile, quantity.Exact(s.Parameters.Rate), s.Parameters.Unit)
	d, err := Run(ctx, s.Experiment, s.Parameters, Loop{
		Apply: func(ctx context.Context, v spec.Variant) error {
			if changes := Changes(v); len(changes) > 0 {
				s.printf("%s: %s", v.Name, strings.Join(changes, "; "))
			}
			return w.Apply(ctx, v)
		},
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
	if d.State != Done {
		s.printf("%s: %s", d.Sentence, s.File())
	}
	return d, err
}

// write writes the result, each file atomically.
func (s *Session) write(d Document) error {
	data, err := document.Marshal(d)
	if err != nil {
		return err
	}
	html, err := page.HTML(FullPage(d))
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{File, data}, {"experiment.md", page.Markdown(SummaryPage(d))}, {"experiment.html", html}} {
		if err := record.WriteFile(filepath.Join(s.Dir, f.name), f.data); err != nil {
			return hint.With(err, "free some disk space; assay compare reads the run folders in "+s.Dir)
		}
	}
	return nil
}

// File is the path of the document.
func (s *Session) File() string { return filepath.Join(s.Dir, File) }

func (s *Session) printf(format string, args ...any) { s.Console.Say("experiment: "+format, args...) }

// Overrides are values of the command line that replace those of the file; nil: not
// given.
type Overrides struct {
	Pairs        *int
	Workers      *int
	Seed         *uint64
	SkipCapacity bool
}

// Apply overrides values of an experiment on the target; empty: the local stack.
func (o Overrides) Apply(e spec.Experiment, target string) (spec.Experiment, error) {
	if o.Pairs != nil {
		if *o.Pairs < 1 || *o.Pairs > spec.MaxPairs {
			return e, fmt.Errorf("--pairs is %d: from 1 to %d", *o.Pairs, spec.MaxPairs)
		}
		e.Pairs = *o.Pairs
	}
	if o.Workers != nil {
		e.Load.Workers = *o.Workers
	}
	if o.Seed != nil {
		e.Seed = o.Seed
	}
	if o.SkipCapacity {
		e.Capacity = nil
	}
	for _, v := range e.Variants {
		if target != "" && v.Local() {
			return e, hint.With(fmt.Errorf("variant %s restarts the database server or the service, which is possible on the local stack only", v.Name),
				"omit --target (and unset ASSAY_TARGET) to run the experiment on the local stack")
		}
	}
	return e, nil
}

// makeRun makes one run. Its folder gets no certificate, which would be of a changed
// system.
func (s *Session) makeRun(ctx context.Context, t Turn, v spec.Variant) (RunResult, error) {
	o := s.options(t, v)
	result, err := trial.Run(ctx, o, s.Console.Progress(v.Name))
	if err != nil {
		return RunResult{}, err
	}
	c := compare.Run{Folder: o.Dir, Certificate: result.Certificate()}
	m := RunResult{
		Run: o.ID, Folder: filepath.ToSlash(filepath.Join(v.Name, o.ID)), Verdict: result.Verdict.Outcome.String(),
		Claim: result.Verdict.Claim, Invalid: compare.Invalid(c), compared: c,
	}
	if b := c.Certificate.Bottleneck; b != nil {
		m.Bottleneck = b.Component
	}
	return m, nil
}

func (s *Session) progress(p Progress) {
	if p.Dropped != "" {
		s.printf("repeating the round: %s", p.Dropped)
	}
	if p.Next == nil {
		return
	}
	left := ""
	if p.Left > 0 {
		left = fmt.Sprintf(", about %s left", p.Left.Round(time.Second))
		if s.Experiment.Capacity != nil {
			left += " before the searches"
		}
	}
	s.printf("run %d of %d, round %d: %s%s", p.Done+1, p.Total, p.Next.Round+1, s.Experiment.Variants[p.Next.Variant].Name, left)
}

// checkCapacity refuses searches that could not decide anything, before any run.
func (s *Session) checkCapacity() error {
	if s.Experiment.Capacity == nil {
		return nil
	}
	t, err := s.trials(s.Experiment.Control())
	if err != nil {
		return err
	}
	if err := t.CheckParameters(); err != nil {
		return hint.With(fmt.Errorf("capacity: %w", err), `in the file's "capacity", lengthen "trial", or raise "from"`)
	}
	return nil
}

// trials returns the trials of the search for a variant's highest rate within the
// SLOs.
func (s *Session) trials(v spec.Variant) (*search.Trials, error) {
	c := s.Experiment.Capacity
	short, changed, err := search.Shorten(s.Profile, c.Trial)
	if err != nil {
		return nil, hint.Or(fmt.Errorf("capacity: %w", err), "name a profile with a hold")
	}
	changed["experiment"] = s.Parameters.Name
	t := search.NewTrials(search.Parameters{
		ID: s.Parameters.ID, Target: s.Parameters.Target, Workers: s.Parameters.Workers, Seed: s.Parameters.Seed,
		Goal:  search.Goal{Trials: c.Trials, Width: c.Width},
		Range: search.Range{From: cmp.Or(c.From, s.Profile.Target()), Max: c.Max},
	}, short, changed)
	t.Options, t.Console, t.Dir = s.Options, s.Console, filepath.Join(s.Dir, "capacity", v.Name)
	t.Label, t.Limitation = v.Name, s.limitation(v)
	return t, nil
}

// search searches for a variant's highest rate, each trial in its turn. There is no
// command to certify that rate: without the variant the system may not sustain it.
func (s *Session) search(ctx context.Context, v spec.Variant, turn Trial) (search.Document, string, error) {
	t, err := s.trials(v)
	if err != nil {
		return search.Document{}, "", err
	}
	t.Turn = turn
	d, err := t.Search(ctx, nil)
	folder, relErr := filepath.Rel(s.Dir, t.Dir)
	return d, filepath.ToSlash(folder), errors.Join(err, relErr)
}

// System is the system to which the variants are applied: the local stack if target
// is empty, else the target with the database at the DSN. release unlocks the folder
// of its journal.
func (s *Session) System(target, dsn string) (w *change.System, release func(), err error) {
	w, release = &change.System{Executable: s.Options.Executable, Log: s.Options.Log}, func() {}
	if target == "" {
		w.Dir = localstack.DefaultDir
	} else {
		if err := s.checkDatabase(dsn); err != nil {
			return nil, nil, err
		}
		release, err = localstack.Reserve(localstack.DefaultDir)
		if errors.Is(err, localstack.ErrInUse) {
			err = hint.With(errors.New("another experiment, or a run on the local stack, is using this folder"), "wait until it has ended")
		}
		if err != nil {
			return nil, nil, err
		}
		w.DSN = dsn
	}
	if err := checkJournal(); err != nil {
		release()
		return nil, nil, err
	}
	w.Begin(localstack.DefaultDir, s.Parameters.ID, target, s.Parameters.Started)
	return w, release, nil
}

// checkDatabase refuses variants that change the database if its DSN is empty.
func (s *Session) checkDatabase(dsn string) error {
	for _, v := range s.Experiment.Variants {
		if v.NeedsDatabase() && dsn == "" {
			return hint.With(fmt.Errorf("variant %s changes the database, but no database is named", v.Name),
				"set ASSAY_DB to its DSN, like user:password@tcp(127.0.0.1:3306)/shop")
		}
	}
	return nil
}

// checkJournal refuses a new experiment if the folder has the journal of an
// interrupted one on another system: replacing it would lose how to restore that
// system. A journal of the same system was replayed before.
func checkJournal() error {
	j, err := change.OpenJournal(localstack.DefaultDir)
	if err != nil || j == nil || len(j.Steps) == 0 {
		return err
	}
	target, option := "the local stack", "without --target"
	if j.Target != "" {
		target, option = j.Target, "with --target "+j.Target
	}
	return hint.With(fmt.Errorf("%s on %s was interrupted, and its changes were not restored", j.Experiment, target),
		fmt.Sprintf("run assay experiment, certify or search %s to restore them; or restore them by hand and delete %s", option, j.Path))
}
