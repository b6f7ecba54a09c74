package main

import (
	"context"
	"fmt"
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
then bisects what is between until it is narrow (MLRsearch, FD.io). What a trial
showed is counted: it is clear with at most half of the violations that each SLO
allows, broken with twice of what one allows, and else close. A clear or a broken
trial decides its load, but for the broken one that ends the doubling or halving:
it is made once more, and where the two differ a third decides. One that is close
is made again; a load at which --trials of them were close is taken as not
sustained, and called close. A trial that may not be judged is made again, up to
twice, and counts for nothing. With --trials 1 no load has a second opinion.

Of the profile it takes scenario, SLOs and rules; --trial is the hold of each
trial, whose warm-up, ramp and cool-down are shortened to a few seconds and whose
baseline is one second. A trial at the default takes about 32 s; where the highest
rate lies within a factor of four of the first, the search takes 4 to 5 minutes,
and 8 at most. After a trial that left transactions undone the system is left alone
for up to 5 s.

Each trial is a sealed run folder below runs/search-ID, where search.json tells
all; it is written after every trial, so that a search that is interrupted keeps
what it has. runs/latest stays where it is, and trials are no attempts of the
profile. However a search ends, it says what bounds were seen: "at least 60" where
no load was missed, "less than 120" where none held.

A search certifies nothing: its rates were chosen by how they came out, and one
hiccup may move a bound. The last line that it prints is the command that would
certify the rate it found.

Exit codes: 0 both bounds were found, or the SLOs hold at --max; 1 the SLOs do not
hold even at a hundredth of the first rate; 2 usage or operational error; with one
bound or none: 3 the generator's limit came first, or trials may not be judged, 4
the trials are too short to tell; 130 interrupted.`,
		Example: `  assay search payment
  assay search payment --from 200 --trial 60s --width 5%
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
	fs.DurationVar(&f.trial, "trial", search.DefaultTrial, "judged length of a trial")
	fs.IntVar(&f.trials, "trials", spec.DefaultTrials, "most trials of a load that is close")
	fs.StringVar(&f.width, "width", fmt.Sprintf("%g%%", 100*spec.DefaultWidth), "width of the bracket when it is narrow enough, of its upper bound")
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
	t.say("%s from %.12g/s, trials of %s, until the bounds are %s apart",
		t.asked.Profile, t.asked.Range.From, time.Duration(t.asked.Seconds*float64(time.Second)), t.flags.width)
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
	if !d.Bracketed() {
		return exitCode(searchExit[d.End()])
	}
	return nil
}

// searchExit are the exit codes of searches that came to an end without both
// bounds.
var searchExit = map[search.End]int{search.Missed: 1, search.Generator: 3, search.Invalid: 3, search.Undecided: 4}

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
