package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/harness/hint"
	"assay/harness/lab/search"
	"assay/harness/lab/search/trials"
	"assay/harness/observe/record"
	"assay/harness/spec"
	"assay/harness/trial"
)

// searchFlags are the options of `assay search`.
type searchFlags struct {
	runFlags
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
		Args: exactly(1, "search takes one profile", "like: assay search payment"),
		RunE: func(c *cobra.Command, args []string) error { return f.search(c, args[0]) },
	}
	f.addSystem(c)
	f.addResult(c, "folder of the search (default: runs/search-ID)",
		"seed of the first trial; each has the next (default: a random one, recorded)", "print search.json instead of the summary")
	fs := c.Flags()
	fs.Float64Var(&f.from, "from", 0, "first rate (default: the profile's target)")
	fs.Float64Var(&f.max, "max", spec.MaxRate, "highest rate to try")
	fs.Lookup("max").DefValue = strconv.Itoa(spec.MaxRate) // not 1e+06
	fs.DurationVar(&f.trial, "trial", search.DefaultTrial, "judged length of a trial")
	fs.IntVar(&f.trials, "trials", search.DefaultTrials, "most trials of a load that is close")
	fs.StringVar(&f.width, "width", fmt.Sprintf("%g%%", 100*search.DefaultWidth), "width of the bracket when it is narrow enough, of its upper bound")
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
	f.chooseSeed(c)
	t, err := f.plan(c, profile)
	if err != nil {
		return err
	}
	if err := record.Vacant(t.Dir); err != nil {
		return hint.With(err, "name another folder with --out")
	}
	if t.Options, err = f.options(c, file); err != nil {
		return err
	}
	s, err := f.acquire(c, t.Console, &t.Options, t.CheckMachine)
	if err != nil {
		return err
	}
	defer s.Release()
	t.Asked.Target = s.Target
	if err := t.Check(c.Context()); err != nil {
		return err // no load could be tried
	}
	t.Console.Say("search: %s from %.12g/s, trials of %s, until the bounds are %s apart",
		name, t.Asked.Range.From, time.Duration(t.Asked.Seconds*float64(time.Second)), f.width)
	d, err := t.Search(c.Context(), func(rate float64) string { return f.certifyCommand(c, profile, rate) })
	if len(d.Probes) > 0 && (err == nil || c.Context().Err() != nil) {
		if err := f.print(c, d, t.File()); err != nil {
			return err
		}
	}
	if err != nil {
		if len(d.Probes) > 0 && c.Context().Err() == nil {
			t.Console.Say("search: what there is so far: %s", t.File())
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

func (f *searchFlags) print(c *cobra.Command, d search.Document, path string) error {
	if !f.json {
		return search.Summary(c.OutOrStdout(), d, path)
	}
	data, err := d.Marshal()
	if err != nil {
		return err
	}
	_, err = c.OutOrStdout().Write(data)
	return err
}

// plan is the search that the command line names.
func (f *searchFlags) plan(c *cobra.Command, p spec.Profile) (*trials.Trials, error) {
	t := &trials.Trials{Profile: p, Changed: map[string]string{}, Console: f.console(c)}
	t.Console.Once = true
	var err error
	if len(p.Load.Stages) == 0 || c.Flags().Changed("trial") { // else trials have the profile's stages
		if t.Profile, t.Changed, err = search.Shorten(p, f.trial); err != nil {
			return nil, hint.With(fmt.Errorf("--trial: %w", err), cmp.Or(hint.Of(err), "like: --trial 20s"))
		}
	}
	if err := f.checkWorkers(); err != nil {
		return nil, err
	}
	t.Asked = search.Asked{
		ID: "search-" + trial.NewID(p.Name), Profile: p.Name, Unit: p.Load.Unit, Workers: f.workers, Seed: f.seed,
		Goal:    search.Goal{Trials: f.trials, Spare: search.DefaultSpare},
		Range:   search.Range{From: p.Target(), Max: f.max},
		Seconds: t.Profile.TargetHold().Seconds(),
	}
	a := &t.Asked
	if t.Dir = f.out; t.Dir == "" {
		t.Dir = filepath.Join(f.runs, a.ID)
	}
	if a.Goal.Width, err = percentOf(c, "width"); err != nil {
		return nil, err
	}
	if c.Flags().Changed("from") {
		a.Range.From = f.from
	}
	if err := checkRate("--from", t.Profile, a.Range.From); err != nil {
		return nil, err
	}
	if err := checkRate("--max", t.Profile, f.max); err != nil {
		return nil, err
	}
	if err := a.CanTell(t.Profile.SLOs); err != nil {
		return nil, err
	}
	// The least must still schedule a transaction.
	a.Range.Floor = max(a.Range.From*search.FloorShare, min(a.Range.From, 1/a.Seconds))
	if _, err := search.New(a.Goal, a.Range); err != nil {
		return nil, usage(seeHelp(c), "this cannot be searched for: %w", err)
	}
	return t, nil
}

// checkRate refuses a rate at which the profile cannot run.
func checkRate(flag string, p spec.Profile, rate float64) error {
	if !(rate > 0 && rate <= spec.MaxRate) {
		return usage(fmt.Sprintf("like: %s %.12g", flag, p.Target()), "%s is %.12g: a rate above 0 and up to %d a second", flag, rate, int(spec.MaxRate))
	}
	if _, err := p.WithRate(rate); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// certifyCommand is the command that would certify a rate, with the options of the
// search that say against what.
func (f *searchFlags) certifyCommand(c *cobra.Command, p spec.Profile, rate float64) string {
	words := []string{"assay", "certify", p.Name, "--rate", fmt.Sprintf("%.12g", rate)}
	if len(p.Load.Stages) == 0 {
		words = append(words, "--hold", fmt.Sprintf("%.0fs", max(spec.CertificateHold, p.Load.Hold).Seconds()))
	}
	for _, name := range []string{"thresholds", "target", "db", "workers"} {
		if flag := c.Flags().Lookup(name); flag.Changed {
			words = append(words, "--"+name, flag.Value.String())
		}
	}
	if c.Flags().Changed("allow-target") {
		for _, host := range f.allow {
			words = append(words, "--allow-target", host)
		}
	}
	for i, w := range words {
		if strings.ContainsAny(w, " \t\n'\"`$&|;<>()*?[]{}~#!\\") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
