package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/harness/lab/experiment"
	"assay/harness/lab/search"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// bench makes the runs of one experiment.
type bench struct {
	ground
	flags      *experimentFlags
	command    *cobra.Command
	thresholds spec.File
	file       spec.Experiment
	profile    spec.Profile // with the experiment's load
	changed    map[string]string
	asked      experiment.Asked
	dir        string
	notes      map[string]bool
}

// bench is what the file and the command line ask for, checked as far as that
// needs neither the target nor the database.
func (f *experimentFlags) bench(c *cobra.Command, path string) (*bench, error) {
	e, err := readExperiment(path)
	if err != nil {
		return nil, err
	}
	thresholds, err := readThresholds(f.thresholds)
	if err != nil {
		return nil, err
	}
	if e, err = f.override(c, e); err != nil {
		return nil, err
	}
	p, err := f.load(c, e, thresholds)
	if err != nil {
		return nil, err
	}
	b := &bench{flags: f, command: c, thresholds: thresholds, file: e, profile: p, notes: map[string]bool{}}
	b.changed = map[string]string{"experiment": e.Name, "rate": fmt.Sprintf("%.12g", p.Target())}
	if len(p.Load.Stages) == 0 {
		b.changed["hold"] = p.Load.Hold.String()
	}
	b.asked = experiment.Asked{
		ID: runID("experiment-" + e.Name), Name: e.Name, File: filepath.ToSlash(e.Path), SHA256: strings.TrimPrefix(e.Digest, "sha256:"),
		Description: e.Description, Question: e.Question, Source: e.Source, Profile: p.Name, Unit: p.Load.Unit, Rate: p.Target(),
		Workers: f.workers, Pairs: e.Pairs, Tolerance: e.Tolerance, Seed: f.seed, Primary: e.Primary, Started: time.Now().UTC().Truncate(time.Second),
	}
	if b.dir = f.out; b.dir == "" {
		b.dir = filepath.Join(f.runs, b.asked.ID)
	}
	if err := record.Vacant(b.dir); err != nil {
		return nil, &usageError{err.Error(), "name another folder with --out"}
	}
	return b, b.checkCapacity()
}

// override puts what the command line says before what the file says.
func (f *experimentFlags) override(c *cobra.Command, e spec.Experiment) (spec.Experiment, error) {
	changed := c.Flags().Changed
	if changed("pairs") {
		if f.pairs < 1 || f.pairs > spec.MaxPairs {
			return e, &usageError{fmt.Sprintf("--pairs is %d: from 1 to %d", f.pairs, spec.MaxPairs), ""}
		}
		e.Pairs = f.pairs
	}
	if !changed("workers") {
		f.workers = cmp.Or(e.Load.Workers, f.workers)
	}
	if err := f.checkWorkers(); err != nil {
		return e, err
	}
	switch {
	case changed("seed"):
	case e.Seed != nil:
		f.seed = *e.Seed
	default:
		f.seed = randomSeed()
	}
	if f.skipCapacity {
		e.Capacity = nil
	}
	for _, v := range e.Variants {
		if f.target != "" && v.Local() {
			return e, &usageError{
				fmt.Sprintf("variant %s starts server or service anew, and those of --target are not ours", v.Name),
				"leave --target (ASSAY_TARGET) out: the experiment then runs on the local stack",
			}
		}
	}
	return e, nil
}

// load is the profile with the experiment's load, and the command line's.
func (f *experimentFlags) load(c *cobra.Command, e spec.Experiment, thresholds spec.File) (spec.Profile, error) {
	p, err := thresholds.Profile(e.Profile)
	if err != nil {
		return p, err
	}
	if p, err = e.Load.Apply(p); err != nil {
		return p, fmt.Errorf("%s: %w", e.Path, err)
	}
	if c.Flags().Changed("rate") {
		if p, err = p.WithRate(f.rate); err != nil {
			return p, fmt.Errorf("--rate: %w", err)
		}
	}
	if c.Flags().Changed("hold") {
		if p, err = p.WithHold(f.hold); err != nil {
			return p, fmt.Errorf("--hold: %w", err)
		}
	}
	return p, nil
}

// checkCapacity refuses searches that could tell nothing, before minutes of runs.
func (b *bench) checkCapacity() error {
	if b.file.Capacity == nil {
		return nil
	}
	t, err := b.searching(b.file.Control())
	if err != nil {
		return err
	}
	var refused *search.Refusal
	if err := t.asked.CanTell(t.short.SLOs); errors.As(err, &refused) {
		return &usageError{"capacity: " + refused.Problem, "lengthen its trial in the file, or begin higher"}
	}
	if _, err := search.New(t.asked.Goal, t.asked.Range); err != nil {
		return &usageError{"capacity: " + err.Error(), ""}
	}
	return nil
}
