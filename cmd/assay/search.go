package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/cli/making"
	"assay.dev/assay/internal/thresholds"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/series/search"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
)

// searchFlags are the options of `assay search`.
type searchFlags struct {
	making.Flags
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
		Short: "Search for the highest rate within the SLOs; certifies nothing",
		Long: `Search tries one load after another, each by short runs of the profile (trials):
it doubles the rate until the SLOs are missed, or halves it until they hold, and
then bisects the bracket until it is narrow enough (MLRsearch, FD.io;
docs/search.md describes how a load is decided). A trial takes about 32 s by
default; if the highest rate is within a factor of four of the first one, the search
takes 4 to 7 minutes, at most 13.

Each trial is a sealed run folder in runs/search-ID, and search.json there is
written after every trial. A search that ends early reports the bounds seen so far:
"at least 60" if no load missed its SLOs, "less than 120" if none held them. A load
that is too close to a limit to call is no bound, and is reported as undecided. A
search certifies nothing, because its rates were chosen by their results; its last
line is the command that would certify the rate found.

Exit codes: 0 both bounds were found, or the SLOs hold at --max; 1 the SLOs do not
hold even at a hundredth of the first rate; 2 usage or operational error; 3 with one
bound or none, the generator's limit was reached first, or trials are INVALID; 4
the trials are too short to decide, or too many rates are too close to a limit; 130
interrupted.`,
		Example: `  assay search payment
  assay search payment --from 200 --trial 60s --width 5%
  assay search checkout --target http://127.0.0.1:8080 --max 5000 --workers 4
  assay search payment --json | jq '.lower, .upper'`,
		Args: cli.Arguments(1, 1, "search takes one profile", "for example: assay search payment"),
		RunE: func(c *cobra.Command, args []string) error { return f.search(c, args[0]) },
	}
	f.AddSystem(c)
	f.AddResult(c, "folder of the search (default: runs/search-ID)",
		"seed of the first trial, plus 1 for each further trial (default: a random one, recorded)", "print search.json instead of the summary")
	fs := c.Flags()
	fs.Float64Var(&f.from, "from", 0, "first rate (default: the profile's target)")
	fs.Float64Var(&f.max, "max", spec.MaxRate, "highest rate to try")
	fs.Lookup("max").DefValue = strconv.Itoa(spec.MaxRate) // not 1e+06
	fs.DurationVar(&f.trial, "trial", search.DefaultTrial, "length of the judged window of a trial")
	fs.IntVar(&f.trials, "trials", spec.DefaultTrials, "maximum number of trials at a rate near the limit, each twice as long as the one before")
	fs.StringVar(&f.width, "width", fmt.Sprintf("%g%%", 100*spec.DefaultWidth), "end the search when the bounds are this close, relative to the upper one")
	return c
}

func (f *searchFlags) search(c *cobra.Command, name string) error {
	file, err := thresholds.Read(c.Context(), f.Thresholds)
	if err != nil {
		return err
	}
	profile, err := file.Profile(name)
	if err != nil {
		return err
	}
	t, err := f.plan(c, profile)
	if err != nil {
		return err
	}
	if err := record.CheckEmpty(t.Dir); err != nil {
		return err
	}
	if t.Options, err = f.Options(c, file); err != nil {
		return err
	}
	s, err := f.Acquire(c, t.Console, &t.Options, []spec.Profile{t.Profile}, t.CheckMachine)
	if err != nil {
		return err
	}
	defer s.Release()
	t.Parameters.Target = s.Target
	if err := t.Check(c.Context()); err != nil {
		return err // no load could be tried
	}
	d, err := t.Search(c.Context(), func(rate float64) string { return search.CertifyCommand(profile, rate, f.sameSystem(c)) })
	if len(d.Probes) > 0 && (err == nil || c.Context().Err() != nil) {
		if f.JSON {
			err = cmp.Or(cli.PrintJSON(c, d), err)
		} else {
			err = cmp.Or(search.Summary(c.OutOrStdout(), d, t.File()), err)
		}
	}
	return cmp.Or(err, cli.ExitWith(d.ExitCode()))
}

// plan returns the search that the command line requests.
func (f *searchFlags) plan(c *cobra.Command, p spec.Profile) (*search.Trials, error) {
	short, changed := p, map[string]string{}
	var err error
	if !p.HasStages() || c.Flags().Changed("trial") { // else trials have the stages of the profile
		if short, changed, err = search.Shorten(p, f.trial); err != nil {
			return nil, hint.Or(fmt.Errorf("--trial: %w", err), "for example: --trial 20s")
		}
	}
	width, err := cli.PercentOf(c, "width")
	if err != nil {
		return nil, err
	}
	if !c.Flags().Changed("from") {
		f.from = p.Target()
	}
	if err := cmp.Or(search.CheckRate("--from", short, f.from), search.CheckRate("--max", short, f.max)); err != nil {
		return nil, err
	}
	t := search.NewTrials(search.Parameters{
		ID: "search-" + trial.NewID(p.Name), Workers: f.Workers, Seed: f.ChooseSeed(c),
		Goal: search.Goal{Trials: f.trials, Width: width}, Range: search.Range{From: f.from, Max: f.max},
	}, short, changed)
	t.Console = &trial.Console{W: c.ErrOrStderr(), Quiet: f.Quiet, Once: true}
	t.Dir = cmp.Or(f.Out, filepath.Join(f.Runs, t.Parameters.ID))
	return t, hint.Or(t.CheckParameters(), cli.SeeHelp(c))
}

// sameSystem returns the command line's options on the system under test.
func (f *searchFlags) sameSystem(c *cobra.Command) (words []string) {
	for _, name := range []string{"thresholds", "target", "db", "workers"} {
		if flag := c.Flags().Lookup(name); flag.Changed {
			words = append(words, "--"+name, flag.Value.String())
		}
	}
	if c.Flags().Changed("allow-target") {
		for _, host := range f.Allow {
			words = append(words, "--allow-target", host)
		}
	}
	return words
}
