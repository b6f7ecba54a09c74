package main

import (
	"errors"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/cli/making"
	"assay.dev/assay/internal/thresholds"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/series/experiment"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
)

// experimentFlags are the options of `assay experiment`.
type experimentFlags struct {
	making.Flags
	load         making.Load
	pairs        int
	skipCapacity bool
}

func newExperiment() *cobra.Command {
	var f experimentFlags
	c := &cobra.Command{
		Use:   "experiment FILE",
		Short: "Run a profile under variants, interleaved, and measure their effect",
		Long: `Experiment runs one profile under the variants of FILE, in pairs whose order is drawn
from the seed, with the number of pairs fixed beforehand by FILE or --pairs, and one
seed per pair. It reports the effect on each metric: changed, equivalent or
undetermined. A cause is confirmed only if p99 and the database's time in a class of
waits both fall at the same load. If FILE says so, it then searches for the highest
rate of every variant within the SLOs, by interleaved trials.

Variants set global variables, execute statements, start the local stack's server
or service with other options, run a command, or add readers of the binlog. Changes
are restored after each run, after Ctrl-C and after a failure; after a kill -9 the
next assay experiment, certify or search restores them first, from a journal in
.assay/.

Runs are sealed run folders in runs/ID/VARIANT, which assay compare reads too. The
result is experiment.json, .md and .html in runs/ID, once the experiment is complete.
Variants with "stack" or "service" need the local stack: no --target.

Exit codes: 0 complete, with any result; 2 usage or operational error, or a change
that could not be restored; 130 interrupted.`,
		Example: `  assay experiment scenarios/experiments/binlog-off.json
  assay experiment scenarios/experiments/payment-commits.json --rate 150 --pairs 8
  assay experiment scenarios/experiments/sync-binlog.json --json | jq -r '.effects[].sentence'

  # The database of a remote service, as a user who may set global variables.
  export ASSAY_DB='admin:secret@tcp(db.test:3306)/shop'
  assay experiment sync-binlog.json --target http://shop.test:8080 --allow-target shop.test`,
		Args: cli.Arguments(1, 1, "experiment takes one file", "for example: assay experiment scenarios/experiments/binlog-off.json"),
		RunE: func(c *cobra.Command, args []string) error { return f.experiment(c, args[0]) },
	}
	f.AddSystem(c)
	f.load.Add(c)
	f.AddResult(c, "folder of the experiment (default: runs/ID)",
		"seed of the first round, plus 1 for each further round (default: that of FILE, or a random one, recorded)", "print experiment.json instead of the summary")
	fs := c.Flags()
	fs.IntVar(&f.pairs, "pairs", 0, "number of rounds, each with one run per variant (default: that of FILE); showing a change takes at least 6")
	fs.BoolVar(&f.skipCapacity, "skip-capacity", false, "do not search for the highest rates, which takes longest")
	return c
}

func (f *experimentFlags) experiment(c *cobra.Command, path string) error {
	s, err := f.plan(c, path)
	if err != nil {
		return err
	}
	under, err := f.Acquire(c, s.Console, &s.Options, []spec.Profile{s.Profile}, s.CheckMachine)
	if err != nil {
		return err
	}
	defer under.Release()
	s.Parameters.Target = under.Target
	w, release, err := s.System(f.Target, under.Databases.DSN)
	if err != nil {
		return err
	}
	defer release()
	d, err := s.Run(c.Context(), w)
	if d.State != experiment.Done {
		return err
	}
	return errors.Join(err, cli.PrintDocument(c, f.JSON, d, experiment.SummaryPage(d), s.File()))
}

// plan reads the file and the command line, and checks what needs neither the target
// nor the database.
func (f *experimentFlags) plan(c *cobra.Command, path string) (*experiment.Session, error) {
	thresholds, err := thresholds.Read(c.Context(), f.Thresholds)
	if err != nil {
		return nil, err
	}
	shared, err := f.Options(c, thresholds)
	if err != nil {
		return nil, err
	}
	return experiment.Open(c.Context(), path, experiment.Request{
		Overrides: f.overrides(c), Load: f.load.Change(c), Options: shared, Seed: trial.RandomSeed(), Dir: f.Out,
		Console: &trial.Console{W: c.ErrOrStderr(), Quiet: f.Quiet, Once: true},
	})
}

func (f *experimentFlags) overrides(c *cobra.Command) experiment.Overrides {
	return experiment.Overrides{
		SkipCapacity: f.skipCapacity, Pairs: given(c, "pairs", &f.pairs), Workers: given(c, "workers", &f.Workers), Seed: given(c, "seed", &f.Seed),
	}
}

// given is the value of an option of the command line; nil: it is not there.
func given[T any](c *cobra.Command, name string, value *T) *T {
	if !c.Flags().Changed(name) {
		return nil
	}
	return value
}
