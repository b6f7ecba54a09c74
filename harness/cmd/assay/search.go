package main

import (
	"context"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"assay/harness/lab/search"
	"assay/harness/observe/record"
	"assay/harness/run"
	"assay/harness/spec"
)

const searchFile = "search.json"

// searchFlags are the options of `assay search`.
type searchFlags struct {
	certifyFlags
	from   float64
	max    float64
	trial  time.Duration
	trials int
	width  string
}

func newSearch() *cobra.Command {
	var f searchFlags
	c := &cobra.Command{
		Use:   "search PROFILE",
		Short: "The highest rate within the SLOs, between two bounds; never a certificate",
		Long: `Search tries one load after another, each by short runs of the profile (trials):
it doubles the rate until the SLOs are missed, or halves it until they hold, and
then bisects what is between until it is narrow. Normally at most so many trials as
--trials says decide a load: it holds where more than half of them would still
have passed if those not made, and those that could not tell, had failed; it is
missed where more than half failed (MLRsearch, FD.io). Where some could not tell
it gets up to two more. A trial that may not be judged is made again, and counts
for nothing.

Of the profile it takes scenario, SLOs and rules; --trial is the hold of each
trial, whose warm-up and ramp are shortened to a few seconds and whose baseline is
one second. Each trial is a sealed run folder below runs/search-ID, where
search.json tells all; it is written after every trial, so that a search that is
interrupted keeps what it has. runs/latest stays where it is, and trials are no
attempts of the profile.

A search certifies nothing: its rates were chosen by how they came out. The last
line that it prints is the command that would certify the rate it found.

Exit codes: 0 bounds were found, or the SLOs hold at --max; 1 the SLOs are missed
already at a hundredth of the first rate; 2 usage or operational error; 3 the
generator's limit came first, or trials may not be judged; 4 the trials did not
decide; 130 interrupted.`,
		Example: `  assay search payment
  assay search payment --from 200 --trial 120s --width 2%
  assay search checkout --target http://127.0.0.1:8080 --max 5000 --workers 4
  assay search payment --json | jq '.lower, .upper'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{"search takes one profile", "like: assay search payment"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.search(c, args[0]) },
	}
	f.addWhere(c)
	fs := c.Flags()
	fs.Float64Var(&f.from, "from", 0, "first rate (default: the profile's target)")
	fs.Float64Var(&f.max, "max", spec.MaxRate, "highest rate to try")
	fs.Lookup("max").DefValue = strconv.Itoa(spec.MaxRate) // not 1e+06
	fs.DurationVar(&f.trial, "trial", time.Minute, "judged length of a trial")
	fs.IntVar(&f.trials, "trials", search.DefaultTrials, "trials that decide a load, normally at most")
	fs.StringVar(&f.width, "width", "5%", "width of the bracket when it is narrow enough, of its upper bound")
	fs.StringVar(&f.out, "out", "", "folder of the search (default: runs/search-ID)")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of the first trial; each has the next (default: a random one, recorded)")
	fs.BoolVar(&f.keepStack, "keep-stack", false, "leave a stack that this command started up")
	fs.BoolVar(&f.json, "json", false, "print search.json instead of the summary")
	fs.BoolVar(&f.quiet, "quiet", false, "no progress")
	return c
}

func (f *searchFlags) search(c *cobra.Command, name string) error {
	file, err := readThresholds(f.thresholds)
	if err != nil {
		return err
	}
	profile, err := file.Profile(name)
	if err != nil {
		return err
	}
	if !c.Flags().Changed("seed") {
		f.seed = randomSeed()
	}
	short, changed, err := f.shorten(c, profile)
	if err != nil {
		return err
	}
	asked, err := f.asked(c, short)
	if err != nil {
		return err
	}
	dir := f.out
	if dir == "" {
		dir = filepath.Join(f.runs, asked.ID)
	}
	if err := record.Vacant(dir); err != nil {
		return &usageError{err.Error(), "name another folder with --out"}
	}
	t := &trials{flags: f, command: c, file: file, profile: profile, short: short, changed: changed, asked: asked, dir: dir, notes: map[string]bool{}}
	g, err := f.prepare(c, func(executable string) error {
		t.executable = executable
		o, err := t.options(asked.Range.Floor)
		if err != nil {
			return err
		}
		return run.CheckMachine(o)
	})
	if err != nil {
		return err
	}
	defer g.leave()
	t.ground, t.executable, t.asked.Target = g, g.executable, f.target
	return t.search(c.Context())
}

// search searches and tells the result.
func (t *trials) search(ctx context.Context) error {
	if err := t.check(ctx, t.asked.Range.Floor); err != nil {
		return err // no load could be tried
	}
	t.say("%s from %.12g/s, trials of %s, normally at most %d a load, until the bounds are %s apart",
		t.asked.Profile, t.asked.Range.From, time.Duration(t.asked.Seconds*float64(time.Second)), t.asked.Goal.Trials, t.flags.width)
	d, err := search.Run(ctx, t.asked, search.Loop{Trial: t.trial, Keep: t.keep, Confirm: func(rate float64) string {
		return t.flags.confirm(t.command, t.profile, rate)
	}})
	if len(d.Probes) > 0 && (err == nil || ctx.Err() != nil) {
		if err := t.tell(d); err != nil {
			return err
		}
	}
	if err != nil {
		if len(d.Probes) > 0 && ctx.Err() == nil {
			t.say("what there is so far: %s", filepath.Join(t.dir, searchFile))
		}
		return err
	}
	if code := searchExit[d.End()]; code != 0 {
		return exitCode(code)
	}
	return nil
}

// searchExit are the exit codes of searches that came to an end; 0: the bounds
// are known.
var searchExit = map[search.End]int{search.Missed: 1, search.Generator: 3, search.Invalid: 3, search.Undetermined: 4}

func (t *trials) tell(d search.Document) error {
	out := t.command.OutOrStdout()
	if t.flags.json {
		data, err := d.Marshal()
		if err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	}
	return search.Summary(out, d, filepath.Join(t.dir, searchFile))
}
