package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assay/harness/hint"
	"assay/harness/lab/experiment"
	"assay/harness/lab/experiment/change"
	"assay/harness/lab/experiment/journal"
	"assay/harness/lab/experiment/report"
	"assay/harness/lab/experiment/session"
	"assay/harness/lab/stack"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// experimentFlags are the options of `assay experiment`.
type experimentFlags struct {
	runFlags
	load         loadFlags
	pairs        int
	skipCapacity bool
}

func newExperiment() *cobra.Command {
	var f experimentFlags
	c := &cobra.Command{
		Use:   "experiment FILE",
		Short: "Interleaved A/B runs of a profile under named variants, and their effect",
		Long: `Experiment runs one profile under each variant of FILE in turn (A B, B A, A B,
...), as many pairs as FILE or --pairs says beforehand, each pair with one seed,
and tells what the variants differ in: changed, equivalent or undetermined. A
cause is confirmed only where p99 and the database's time in a class of waits both
fall at the same load. Where FILE asks for it, it then searches the highest rate
within the SLOs of every variant, by trials in turn.

Variants set global variables, execute statements, start the local stack's server
or service with other options, run a command, or add readers of the binlog. What
they change is set back after each run, after Ctrl-C, and where a step fails; a
journal in .assay/ keeps it through a kill -9, and the next assay experiment,
certify or search there sets it back first.

Runs are sealed run folders below runs/ID/VARIANT, so that assay compare reads
them too. The result is experiment.json, .md and .html in runs/ID, written once the
experiment has come to its end. Variants with "stack" or "service" need the local
stack: no --target.

Exit codes: 0 it came to its end, whatever it found; 2 usage or operational error,
or something could not be set back; 130 interrupted.`,
		Example: `  assay experiment scenarios/experiments/binlog-off.json
  assay experiment scenarios/experiments/payment-commits.json --rate 150 --pairs 8
  assay experiment scenarios/experiments/sync-binlog.json --json | jq -r '.effects[].sentence'

  # The database of a service elsewhere, by a user who may set global variables.
  export ASSAY_DB='admin:secret@tcp(db.test:3306)/shop'
  assay experiment sync-binlog.json --target http://shop.test:8080 --allow-target shop.test`,
		Args: exactly(1, "experiment takes one file", "like: assay experiment scenarios/experiments/binlog-off.json"),
		RunE: func(c *cobra.Command, args []string) error { return f.experiment(c, args[0]) },
	}
	f.addSystem(c)
	f.load.add(c)
	f.addResult(c, "folder of the experiment (default: runs/ID)",
		"seed of the first round; each has the next (default: the file's, or a random one, recorded)", "print experiment.json instead of the summary")
	fs := c.Flags()
	fs.IntVar(&f.pairs, "pairs", 0, "rounds in which each variant is run once, instead of the file's; a change takes at least 6")
	fs.BoolVar(&f.skipCapacity, "skip-capacity", false, "do not search the highest rates, which take longest")
	return c
}

func (f *experimentFlags) experiment(c *cobra.Command, path string) error {
	s, err := f.plan(c, path)
	if err != nil {
		return err
	}
	elsewhere := f.target != ""
	under, err := f.acquire(c, s.Console, &s.Options, s.CheckMachine)
	if err != nil {
		return err
	}
	defer under.Release()
	s.Asked.Target = under.Target
	w := &change.World{Executable: s.Options.Executable, Log: s.Options.Log}
	if elsewhere {
		if err := checkDatabase(s.Experiment, under.Databases.DSN); err != nil {
			return err
		}
		free, err := stack.Occupy(stack.DefaultDir)
		if errors.Is(err, stack.ErrOccupied) {
			return usage("wait until it has ended", "another experiment is under way in this folder, or a run on its local stack")
		}
		if err != nil {
			return err
		}
		defer free()
		w.DSN = under.Databases.DSN
	} else {
		w.Dir = stack.DefaultDir
	}
	if err := checkJournal(); err != nil {
		return err
	}
	w.Begin(stack.DefaultDir, s.Asked.ID, f.target, s.Asked.Started)
	d, err := s.Run(c.Context(), w)
	switch {
	case len(d.Runs) == 0 && err != nil:
		return err
	case d.State != experiment.Done:
		s.Console.Say("experiment: %s: %s", d.Sentence, s.File())
		return err
	}
	return errors.Join(err, f.print(c, d, s.File()))
}

func (f *experimentFlags) print(c *cobra.Command, d experiment.Document, path string) error {
	if !f.json {
		return report.Text(c.OutOrStdout(), d, path)
	}
	data, err := d.Marshal()
	if err != nil {
		return err
	}
	_, err = c.OutOrStdout().Write(data)
	return err
}

// checkJournal refuses where an experiment on another system was cut short here:
// its journal, which is all that knows what to set back there, would be replaced.
// That of the same system was replayed.
func checkJournal() error {
	j, err := journal.Open(stack.DefaultDir)
	if err != nil || j == nil || len(j.Steps) == 0 {
		return err
	}
	where, there := "the local stack", "without --target"
	if j.Target != "" {
		where, there = j.Target, "with --target "+j.Target
	}
	return usage(fmt.Sprintf("start assay experiment, certify or search %s, which sets it back; or set it back by hand, and delete %s", there, j.Path()),
		"%s on %s was cut short in this folder, and what it changed is not set back", j.Experiment, where)
}

// checkDatabase refuses what needs the database of a named target, where none is
// named.
func checkDatabase(e spec.Experiment, dsn string) error {
	for _, v := range e.Variants {
		if v.NeedsDatabase() && dsn == "" {
			return usage("set ASSAY_DB to its DSN, like user:password@tcp(127.0.0.1:3306)/shop", "variant %s changes the database, and none is named", v.Name)
		}
	}
	return nil
}

// plan is what the file and the command line ask for, checked as far as that needs
// neither the target nor the database.
func (f *experimentFlags) plan(c *cobra.Command, path string) (*session.Session, error) {
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
	p, err := thresholds.Profile(e.Profile)
	if err != nil {
		return nil, err
	}
	if p, err = e.Load.Apply(p); err != nil {
		return nil, fmt.Errorf("%s: %w", e.Path, err)
	}
	if p, err = f.load.apply(c, p); err != nil {
		return nil, err
	}
	s := session.New(e, p, f.workers, f.seed, f.out, f.console(c))
	s.Console.Once = true
	if s.Dir == "" {
		s.Dir = filepath.Join(f.runs, s.Asked.ID)
	}
	if err := record.Vacant(s.Dir); err != nil {
		return nil, hint.With(err, "name another folder with --out")
	}
	if s.Options, err = f.options(c, thresholds); err != nil {
		return nil, err
	}
	return s, s.CheckCapacity()
}

// override puts what the command line says before what the file says.
func (f *experimentFlags) override(c *cobra.Command, e spec.Experiment) (spec.Experiment, error) {
	changed := c.Flags().Changed
	if changed("pairs") {
		if f.pairs < 1 || f.pairs > spec.MaxPairs {
			return e, fmt.Errorf("--pairs is %d: from 1 to %d", f.pairs, spec.MaxPairs)
		}
		e.Pairs = f.pairs
	}
	if !changed("workers") {
		f.workers = cmp.Or(e.Load.Workers, f.workers)
	}
	if err := f.checkWorkers(); err != nil {
		return e, err
	}
	if f.chooseSeed(c); !changed("seed") && e.Seed != nil {
		f.seed = *e.Seed
	}
	if f.skipCapacity {
		e.Capacity = nil
	}
	for _, v := range e.Variants {
		if f.target != "" && v.Local() {
			return e, usage("leave --target (ASSAY_TARGET) out: the experiment then runs on the local stack",
				"variant %s starts server or service anew, and those of --target are not ours", v.Name)
		}
	}
	return e, nil
}

func readExperiment(path string) (spec.Experiment, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return spec.Experiment{}, usage("name its file, like: scenarios/experiments/binlog-off.json", "the experiment cannot be read: %w", err)
	}
	return spec.DecodeExperiment(path, data)
}
