package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assay.dev/assay/internal/localstack"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/cli/making"
	"assay.dev/assay/internal/thresholds"

	"github.com/spf13/cobra"

	"assay.dev/assay"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
	"assay.dev/assay/lab/reproduce"
	"assay.dev/assay/lab/reproduce/ingestion"
	"assay.dev/assay/lab/reproduce/twowriters"
	"assay.dev/assay/lab/stack"
)

// reproduceFlags are the options of `assay-lab reproduce`.
type reproduceFlags struct {
	making.Flags
	quick bool
}

func newReproduce() *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "reproduce",
		Short: "Measure the system of a field report on this machine",
		Long: `Reproduce starts the local stack as a field report describes its system, makes the report's
measurements with the scenarios and profiles of this program, and prints its tables. The
figures are those of this machine; their ratios can be compared.`,
		Example: "  assay-lab reproduce two-writers\n  assay-lab reproduce two-writers --quick    # minutes, to see what it does",
	})
	c.AddCommand(newReproduceTwoWriters(), newReproduceIngestion())
	return c
}

func newReproduceTwoWriters() *cobra.Command {
	var f reproduceFlags
	c := &cobra.Command{
		Use:   "two-writers",
		Short: "Scaling, stale reads, connections and failover of two writers",
		Long: `Two-writers starts two database servers that are both written (Galera, or Group
Replication) behind HAProxy, and measures the throughput of TPC-C-like transactions on one
writer, on both with separate schemas, and on both with the same schema; stale reads in
the default and the causal mode; the time to open and close connections; and the recovery
after a writer is killed, directly and through the proxy. It takes about 25 minutes.

Exit codes: 0 all parts were measured, whatever the verdicts; 1 transactions were lost or
duplicated, or an invariant is violated; 2 usage or operational error, or a part could not
be measured; 130 interrupted.`,
		Example: "  assay-lab reproduce two-writers\n  assay-lab reproduce two-writers --quick",
		Args:    cli.NoArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return f.twoWriters(c) },
	}
	f.add(c)
	return c
}

func newReproduceIngestion() *cobra.Command {
	var f reproduceFlags
	var rate float64
	c := &cobra.Command{
		Use:   "ingestion",
		Short: "The ways to store events, at a high rate",
		Long: `Ingestion runs the reference service with each of the report's ways to store an event: a
connection pool for each request, a pool that keeps two connections, a bounded pool, one
INSERT for several requests, and a queue in memory behind the response, also killed under
load. It finds the highest rate that generator, service and database reach together, and
which of the three limits it; runs all ways at three quarters of it, and shows errors by
class, latency, persist lag and the ledger. It takes about 20 minutes.

Exit codes: 0 all ways were measured, whatever the verdicts; 2 usage or operational error,
or a way, or the rate, could not be measured; 130 interrupted.`,
		Example: "  assay-lab reproduce ingestion\n  assay-lab reproduce ingestion --rate 1000 --quick",
		Args:    cli.NoArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return f.ingestion(c, rate) },
	}
	f.add(c)
	c.Flags().Float64Var(&rate, "rate", 0, "events per second (default: three quarters of the highest rate, which is searched for)")
	return c
}

func (f *reproduceFlags) ingestion(c *cobra.Command, rate float64) error {
	if c.Flags().Changed("rate") && !(rate > 0 && rate <= spec.MaxRate) {
		return cli.Usage("for example: --rate 1000", "--rate %s: want a rate above 0 and up to %d per second", quantity.Exact(rate), int(spec.MaxRate))
	}
	o, release, err := f.prepare(c, "ingestion", localstack.Options{})
	if err != nil {
		return err
	}
	defer release()
	state, _, err := stack.Status(stack.DefaultDir)
	if err != nil {
		return err
	}
	d, err := ingestion.Run(c.Context(), ingestion.Options{Options: o, Rate: rate, ServiceDSN: state.ServiceDSN()})
	return errors.Join(f.show(c, o, ingestion.Page(d)), cmp.Or(err, unmeasured(d.Problems, o)))
}

// unmeasured is the error where parts could not be measured.
func unmeasured(problems []string, o reproduce.Options) error {
	if len(problems) == 0 {
		return nil
	}
	return hint.With(fmt.Errorf("%d parts could not be measured, the first one: %s", len(problems), problems[0]), "the run folders are in "+o.Dir)
}

// add adds the options of all reports.
func (f *reproduceFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.Runs, "runs", "runs", "folder of run folders")
	f.AddResult(c, "folder of the results (default: runs/reproduce-ID)", "seed of arrivals and data (default: a random one, recorded)", "")
	c.Flags().BoolVar(&f.quick, "quick", false, "short runs, to see what it does")
	f.Workers = 1
}

func (f *reproduceFlags) twoWriters(c *cobra.Command) error {
	o, release, err := f.prepare(c, "two-writers", localstack.Options{Topology: stack.MultiPrimary, Proxy: true})
	if err != nil {
		return err
	}
	defer release()
	d, err := twowriters.Run(c.Context(), o)
	if err := errors.Join(f.show(c, o, twowriters.Page(d)), cmp.Or(err, unmeasured(d.Problems, o))); err != nil {
		return err
	}
	if d.Lost() {
		return cli.ExitWith(1)
	}
	return nil
}

// prepare makes the folder of the results and the local stack ready. release stops what it
// has started.
func (f *reproduceFlags) prepare(c *cobra.Command, name string, of localstack.Options) (o reproduce.Options, release func(), err error) {
	o = reproduce.Options{Console: &trial.Console{W: c.ErrOrStderr(), Quiet: f.Quiet, Once: true}, Quick: f.quick, Seed: f.ChooseSeed(c)}
	o.Dir = cmp.Or(f.Out, filepath.Join(f.Runs, "reproduce-"+trial.NewID(name)))
	if err := record.CheckEmpty(o.Dir); err != nil {
		return o, nil, err
	}
	files := filepath.Join(o.Dir, "project")
	defer func() {
		if err != nil { // the same command can be given again
			_ = os.RemoveAll(files)
			_ = os.Remove(o.Dir)
		}
	}()
	f.Thresholds = filepath.Join(files, "thresholds.json")
	if err := os.CopyFS(files, assay.Files); err != nil {
		return o, nil, err
	}
	file, err := thresholds.Read(c.Context(), f.Thresholds)
	if err != nil {
		return o, nil, err
	}
	if o.Shared, err = f.Options(c, file); err != nil {
		return o, nil, err
	}
	f.Stack = of
	s, err := f.Acquire(c, o.Console, &o.Shared, nil, func() error { return nil })
	if err != nil {
		return o, nil, err
	}
	return o, s.Release, nil
}

// show writes the page, and prints it.
func (f *reproduceFlags) show(c *cobra.Command, o reproduce.Options, p page.Page) error {
	html, err := page.HTML(p)
	if err != nil {
		return err
	}
	file := filepath.Join(o.Dir, "report.html")
	markdown := filepath.Join(o.Dir, "report.md")
	if err := cmp.Or(record.WriteFile(file, html), record.WriteFile(markdown, page.Markdown(p))); err != nil {
		return hint.With(err, "free some disk space; the run folders are in "+o.Dir)
	}
	return cli.PrintDocument(c, false, nil, p, file, markdown)
}
