package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/series/experiment"
	"assay.dev/assay/internal/series/experiment/change"
	"assay.dev/assay/internal/series/search"
	"assay.dev/assay/internal/series/search/trials"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
)

// apply applies a variant.
func (s *Session) apply(ctx context.Context, w *change.System, v spec.Variant) error {
	if changes := experiment.Changes(v); len(changes) > 0 {
		s.printf("%s: %s", v.Name, strings.Join(changes, "; "))
	}
	return w.Apply(ctx, v)
}

// makeRun makes one run. Its folder gets no certificate, which would be of a changed
// system.
func (s *Session) makeRun(ctx context.Context, t experiment.Turn, v spec.Variant) (m experiment.RunResult, c compare.Run, err error) {
	o := s.options(t, v)
	result, err := trial.Run(ctx, o, s.Console.Progress(v.Name))
	if err != nil {
		return m, c, err
	}
	c = compare.Run{Folder: o.Dir, Certificate: result.Certificate()}
	m = experiment.RunResult{
		Run: o.ID, Folder: filepath.ToSlash(filepath.Join(v.Name, o.ID)), Verdict: result.Verdict.Outcome.String(),
		Claim: result.Verdict.Claim, Invalid: compare.Invalid(c),
	}
	if b := c.Certificate.Bottleneck; b != nil {
		m.Bottleneck = b.Component
	}
	return m, c, nil
}

// progress reports the next run and the estimated time left.
func (s *Session) progress(p experiment.Progress) {
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
func (s *Session) trials(v spec.Variant) (*trials.Trials, error) {
	c := s.Experiment.Capacity
	short, changed, err := search.Shorten(s.Profile, c.Trial)
	if err != nil {
		return nil, hint.Or(fmt.Errorf("capacity: %w", err), "name a profile with a hold")
	}
	changed["experiment"] = s.Parameters.Name
	t := trials.New(search.Parameters{
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
func (s *Session) search(ctx context.Context, v spec.Variant, turn experiment.Trial) (search.Document, string, error) {
	t, err := s.trials(v)
	if err != nil {
		return search.Document{}, "", err
	}
	t.Turn = turn
	d, err := t.Search(ctx, nil)
	folder, relErr := filepath.Rel(s.Dir, t.Dir)
	return d, filepath.ToSlash(folder), errors.Join(err, relErr)
}
