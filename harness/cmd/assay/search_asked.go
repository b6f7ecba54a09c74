package main

import (
	"cmp"
	"errors"
	"fmt"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"assay/harness/lab/search"
	"assay/harness/spec"
)

// shorten is the profile as its trials run, and what of it that changes. Stages
// keep their shape.
func (f *searchFlags) shorten(c *cobra.Command, p spec.Profile) (spec.Profile, map[string]string, error) {
	if len(p.Load.Stages) > 0 && !c.Flags().Changed("trial") {
		return p, map[string]string{}, nil
	}
	short, changed, err := search.Shorten(p, f.trial)
	if err != nil {
		return p, nil, &usageError{"--trial: " + err.Error(), cmp.Or(hintOf(err), "like: --trial 20s")}
	}
	return short, changed, nil
}

// asked is the search that the command line names, by trials of a profile.
func (f *searchFlags) asked(c *cobra.Command, short spec.Profile) (search.Asked, error) {
	a := search.Asked{
		ID: "search-" + runID(short.Name), Profile: short.Name, Unit: short.Load.Unit, Workers: f.workers, Seed: f.seed,
		Goal:    search.Goal{Trials: f.trials, Spare: search.DefaultSpare},
		Range:   search.Range{From: short.Target(), Max: f.max},
		Seconds: judgedLength(short).Seconds(),
	}
	if err := f.checkWorkers(); err != nil {
		return a, err
	}
	var err error
	if a.Goal.Width, err = percentOf(c, "width"); err != nil {
		return a, err
	}
	if c.Flags().Changed("from") {
		a.Range.From = f.from
	}
	if err := checkRate("--from", short, a.Range.From); err != nil {
		return a, err
	}
	if err := checkRate("--max", short, f.max); err != nil {
		return a, err
	}
	var refused *search.Refusal
	if errors.As(a.CanTell(short.SLOs), &refused) {
		return a, &usageError{refused.Problem, refused.Hint}
	}
	// The least must still schedule a transaction.
	a.Range.Floor = max(a.Range.From*search.FloorShare, min(a.Range.From, 1/a.Seconds))
	if _, err := search.New(a.Goal, a.Range); err != nil {
		return a, &usageError{"this cannot be searched for: " + err.Error(), seeHelp(c)}
	}
	return a, nil
}

// checkRate refuses a rate at which the profile cannot run.
func checkRate(flag string, p spec.Profile, rate float64) error {
	if !(rate > 0 && rate <= spec.MaxRate) {
		return &usageError{
			fmt.Sprintf("%s is %.12g: a rate above 0 and up to %d a second", flag, rate, int(spec.MaxRate)),
			fmt.Sprintf("like: %s %.12g", flag, p.Target()),
		}
	}
	if _, err := p.WithRate(rate); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// confirm is the command that would certify a rate, with the options of the
// search that say against what.
func (f *searchFlags) confirm(c *cobra.Command, p spec.Profile, rate float64) string {
	words := []string{"assay", "certify", p.Name, "--rate", fmt.Sprintf("%.12g", rate)}
	if len(p.Load.Stages) == 0 {
		words = append(words, "--hold", fmt.Sprintf("%.0fs", max(certificateHold, p.Load.Hold).Seconds()))
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
	return shellescape.QuoteCommand(words)
}
