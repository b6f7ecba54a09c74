package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/harness/judge/stats"
	"assay/harness/lab/search"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// asked is the search that the command line names.
func (f *searchFlags) asked(c *cobra.Command, p spec.Profile) (search.Asked, error) {
	a := search.Asked{
		ID: "search-" + runID(p.Name), Profile: p.Name, Unit: p.Load.Unit, Workers: f.workers, Seed: f.seed,
		Goal: search.Goal{Trials: f.trials, Exceed: search.DefaultExceed, Spare: search.DefaultSpare},
	}
	if err := f.checkWorkers(); err != nil {
		return a, err
	}
	var err error
	if a.Goal.Width, err = percentOf(f.width); err != nil {
		return a, err
	}
	a.Range = search.Range{From: p.Target(), Max: f.max}
	if c.Flags().Changed("from") {
		a.Range.From = f.from
	}
	trial, _, err := f.trialOf(c, p, a.Range.From)
	if err != nil {
		return a, err
	}
	if _, err := p.WithRate(f.max); err != nil {
		return a, fmt.Errorf("--max: %w", err)
	}
	a.Seconds = judgedLength(trial).Seconds()
	if err := tells(trial, a); err != nil {
		return a, err
	}
	// The least must still schedule a transaction.
	a.Range.Floor = max(a.Range.From*search.FloorShare, min(a.Range.From, 1/a.Seconds))
	if _, err := search.New(a.Goal, a.Range); err != nil {
		return a, &usageError{"this cannot be searched for: " + err.Error(), seeHelp(c)}
	}
	return a, nil
}

// tells refuses trials that could never hold a percentile of the transaction: with
// fewer samples than its test needs the first load would miss it or stay
// undecided, and every lower one too.
func tells(trial spec.Profile, a search.Asked) error {
	made := a.Range.From * a.Seconds // all stages at their highest rate: no fewer than there are
	for _, s := range trial.SLOs {
		least := math.Round(stats.Test{Q: 1 - s.Quantile}.Least())
		if s.Aggregate == spec.Percentile && s.Metric == metric.TransactionDuration && made < least {
			return &usageError{
				fmt.Sprintf("trials of %gs at %.12g/s cannot tell: %s %s takes at least %.0f transactions, and they make %.0f",
					a.Seconds, a.Range.From, s.MetricText(), s.Expression, least, made),
				fmt.Sprintf("lengthen them with --trial %.0fs, better several times that, or begin higher with --from", math.Ceil(least/a.Range.From)),
			}
		}
	}
	return nil
}

// percentOf reads a share that is written like 5%.
func percentOf(text string) (float64, error) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil {
		return 0, &usageError{fmt.Sprintf("--width is %q: not a percentage", text), "like: --width 5%"}
	}
	return v / 100, nil
}

// Phases of a trial: enough for connections and caches, and for a queue that the
// trial before has left, without spending on them what the hold needs.
const (
	trialLead     = 5 * time.Second // longest warm-up, ramp and cool-down
	trialBaseline = time.Second     // the least there is: a trial is not diagnosed
)

// trialOf is the profile as one trial of it runs, and what of it was changed.
// Stages keep their shape: --trial cannot say which of them should change.
func (f *searchFlags) trialOf(c *cobra.Command, p spec.Profile, rate float64) (spec.Profile, map[string]string, error) {
	changed := map[string]string{"rate": fmt.Sprintf("%.12g", rate)}
	if len(p.Load.Stages) == 0 || c.Flags().Changed("trial") {
		shorten := func(name string, phase *time.Duration, most time.Duration) {
			if *phase > most {
				*phase = most
				changed[name] = most.String()
			}
		}
		shorten("warmup", &p.Load.Warmup, trialLead)
		shorten("baseline", &p.Load.Baseline.For, trialBaseline)
		shorten("ramp", &p.Load.Ramp, trialLead)
		shorten("cooldown", &p.Load.Cooldown, trialLead)
		var err error
		if p, err = p.WithHold(f.trial); err != nil {
			return p, nil, fmt.Errorf("--trial: %w", err)
		}
		changed["hold"] = f.trial.String()
	}
	p, err := p.WithRate(rate)
	if err != nil {
		return p, nil, fmt.Errorf("a trial at %.12g/s: %w", rate, err)
	}
	return p, changed, nil
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
	for i, w := range words {
		if strings.ContainsAny(w, " \t\n'\"`$&|;<>()*?[]{}~#!\\") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
