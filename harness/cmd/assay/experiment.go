package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assay/harness/judge/page"
	"assay/harness/lab/experiment"
	"assay/harness/lab/experiment/change"
	"assay/harness/lab/experiment/journal"
	"assay/harness/lab/experiment/report"
	"assay/harness/lab/stack"
	"assay/harness/observe/record"
	"assay/harness/run"
	"assay/harness/spec"
)

const experimentFile = "experiment.json"

// experimentFlags are the options of `assay experiment`.
type experimentFlags struct {
	certifyFlags
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
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{"experiment takes one file", "like: assay experiment scenarios/experiments/binlog-off.json"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.experiment(c, args[0]) },
	}
	f.addShared(c)
	fs := c.Flags()
	fs.IntVar(&f.pairs, "pairs", 0, "rounds in which each variant is run once, instead of the file's; a change takes at least 6")
	fs.BoolVar(&f.skipCapacity, "skip-capacity", false, "do not search the highest rates, which take longest")
	fs.StringVar(&f.out, "out", "", "folder of the experiment (default: runs/ID)")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of the first round; each has the next (default: the file's, or a random one, recorded)")
	fs.BoolVar(&f.keepStack, "keep-stack", false, "leave a stack that this command started up")
	fs.BoolVar(&f.json, "json", false, "print experiment.json instead of the summary")
	fs.BoolVar(&f.quiet, "quiet", false, "no progress")
	return c
}

func (f *experimentFlags) experiment(c *cobra.Command, path string) (err error) {
	b, err := f.bench(c, path)
	if err != nil {
		return err
	}
	elsewhere := f.target
	g, err := f.prepare(c, func(executable string) error {
		b.executable = executable
		o, err := b.options(experiment.Turn{}, b.file.Control(), "")
		if err != nil {
			return err
		}
		return run.CheckMachine(o)
	})
	if err != nil {
		return err
	}
	defer g.leave()
	b.ground, b.executable, b.asked.Target = g, g.executable, f.target
	if elsewhere != "" {
		if err := b.checkDatabase(); err != nil {
			return err
		}
		leave, err := stack.Occupy(stack.DefaultDir)
		if errors.Is(err, stack.ErrOccupied) {
			return &usageError{"another experiment is under way in this folder, or a run on its local stack", "wait until it has ended"}
		}
		if err != nil {
			return err
		}
		defer leave()
	}
	if err := checkJournal(); err != nil {
		return err
	}
	return b.run(c.Context(), b.world(elsewhere))
}

// world is where the variants are put in place: the local stack, or a database
// elsewhere.
func (b *bench) world(target string) *change.World {
	w := &change.World{Executable: b.executable, Log: b.log}
	if target == "" {
		w.Dir = stack.DefaultDir
	} else {
		w.DSN = b.db.dsn
	}
	w.Begin(stack.DefaultDir, b.asked.ID, target, b.asked.Started)
	return w
}

// run makes the experiment, sets back what it changed however it ended, and
// tells the result.
func (b *bench) run(ctx context.Context, w *change.World) error {
	if err := b.checkBefore(ctx, w); err != nil {
		return err // nothing was changed
	}
	if err := w.Journal.Keep(); err != nil {
		return err
	}
	b.say("%s, %d pairs, %s at %.12g %s", b.asked.Name, b.asked.Pairs, b.asked.Profile, b.asked.Rate, b.asked.Unit)
	d, err := experiment.Run(ctx, b.file, b.asked, experiment.Loop{
		Apply:  func(ctx context.Context, v spec.Variant) error { return b.apply(ctx, w, v) },
		Revert: func() error { return w.Revert(ctx) },
		Read:   w.Read,
		Make:   b.makeRun(w),
		Search: b.search,
		Tell:   b.tell,
	})
	b.say("setting back what was changed")
	if back := w.Close(ctx); back != nil {
		err = &notSetBack{back, beside(err)}
	} else if changedStill(err) {
		err = cmp.Or(beside(err), errors.New("a variant could not be taken back at once, which ended the experiment: all is set back now"))
	}
	if len(d.Runs) == 0 && err != nil {
		return err
	}
	if written := b.write(d); written != nil {
		return both(err, written)
	}
	if d.State != experiment.Done {
		b.say("%s: %s", d.Sentence, filepath.Join(b.dir, experimentFile))
		return err
	}
	return both(err, b.show(d))
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
	return &usageError{
		fmt.Sprintf("%s on %s was cut short in this folder, and what it changed is not set back", j.Experiment, where),
		fmt.Sprintf("start assay experiment, certify or search %s, which sets it back; or set it back by hand, and delete %s", there, j.Path()),
	}
}

// checkDatabase refuses what needs the database of a system elsewhere, where none
// is named.
func (b *bench) checkDatabase() error {
	for _, v := range b.file.Variants {
		if v.NeedsDatabase() && b.db.dsn == "" {
			return &usageError{fmt.Sprintf("variant %s changes the database, and none is named", v.Name), "set ASSAY_DB to its DSN, like user:password@tcp(127.0.0.1:3306)/shop"}
		}
	}
	return nil
}

// checkBefore finds what would keep a run or a variant from its start.
func (b *bench) checkBefore(ctx context.Context, w *change.World) error {
	o, err := b.options(experiment.Turn{}, b.file.Control(), "check")
	if err != nil {
		return err
	}
	b.furnish(ctx, &o)
	if err := run.Check(ctx, o); err != nil {
		return err
	}
	return w.Prepare(ctx, b.file.Variants)
}

// write keeps the result, each file whole.
func (b *bench) write(d experiment.Document) error {
	data, err := d.Marshal()
	if err != nil {
		return err
	}
	html, err := page.HTML(report.Full(d))
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{experimentFile, data}, {"experiment.md", page.Markdown(report.Summary(d))}, {"experiment.html", html}} {
		if err := record.WriteFile(filepath.Join(b.dir, f.name), f.data); err != nil {
			return &run.Error{Err: err, Hint: "make room; the runs so far are run folders in " + b.dir + ", which assay compare reads"}
		}
	}
	return nil
}

func (b *bench) show(d experiment.Document) error {
	out := b.command.OutOrStdout()
	if b.flags.json {
		data, err := d.Marshal()
		if err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	}
	_, err := fmt.Fprintf(out, "%s\n  %s\n", page.Terminal(report.Summary(d), page.Columns, false), filepath.Join(b.dir, experimentFile))
	return err
}

func (b *bench) say(format string, args ...any) {
	if !b.flags.quiet {
		fmt.Fprintf(b.command.ErrOrStderr(), "experiment: "+format+"\n", args...)
	}
}

// notSetBack is what remained changed, which matters more than why the
// experiment ended.
type notSetBack struct{ back, ended error }

func (n *notSetBack) Error() string {
	text := oneLine(n.back)
	if n.ended != nil {
		text = oneLine(n.ended) + "; and " + text
	}
	return text
}

func (n *notSetBack) Unwrap() error { return n.back }

func readExperiment(path string) (spec.Experiment, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return spec.Experiment{}, &usageError{fmt.Sprintf("the experiment cannot be read: %v", err), "name its file, like: scenarios/experiments/binlog-off.json"}
	}
	return spec.DecodeExperiment(path, data)
}
