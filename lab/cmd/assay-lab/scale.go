package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/cli/making"
	"assay.dev/assay/internal/thresholds"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
	"assay.dev/assay/lab/scale"
)

// scaleFlags are the options of `assay-lab scale`.
type scaleFlags struct {
	making.Flags
	threads  []string
	rates    []string
	variants []string
	rounds   int
	measured time.Duration
	warmup   time.Duration
}

func newScale() *cobra.Command {
	var f scaleFlags
	c := &cobra.Command{
		Use:   "scale PROFILE",
		Short: "Measure how throughput grows with threads and rates; certifies nothing",
		Long: `Scale runs the profile's transactions in short steps: with 1 to 512 threads, each of
which begins a transaction when its last one has ended (the closed model), and at rates
(the open model). It reports throughput, p95, errors by class, what the database waits
for, and how throughput grows; and, as advice, the fit of the Universal Scalability Law.

A variant is a name and values for the profile's "env". Of several, each is compared with
the first one, over pairs of steps that ran one after the other. Six rounds give each
ratio an interval.

Each step is a sealed run folder in runs/scale-ID; scale.json there is written after every
step, and scale.html is the page. The closed model cannot certify: a slow system gets less
load, so that its latencies omit the stalls.

Exit codes: 0 all steps were made; 1 transactions were lost or duplicated, or an
invariant is violated; 2 usage or operational error; 130 interrupted.`,
		Example: `  assay-lab scale tpcc --threads 1,8,64
  assay-lab scale tpcc --threads 8,32 --variant 'one writer:TPCC_TARGETS=a/tpcc' --variant 'two writers:TPCC_TARGETS=a/tpcc b/tpcc'
  assay-lab scale payment --threads '' --rates 50,100,200 --target http://127.0.0.1:8080
  assay-lab scale tpcc --json | jq '.ratios'`,
		Args: cli.Arguments(1, 1, "scale takes one profile", "for example: assay-lab scale tpcc"),
		RunE: func(c *cobra.Command, args []string) error { return f.scale(c, args[0]) },
	}
	f.AddSystem(c)
	f.AddResult(c, "folder of the measurement (default: runs/scale-ID)",
		"seed of the first round, plus 1 for each further round (default: a random one, recorded)", "print scale.json instead of the tables")
	fs := c.Flags()
	fs.StringSliceVar(&f.threads, "threads", strings.Split("1,2,4,8,16,32,64,128,256,512", ","), "numbers of threads of the closed model; '' for none")
	fs.StringSliceVar(&f.rates, "rates", nil, "rates of the open model, transactions per second")
	fs.StringArrayVar(&f.variants, "variant", nil, "a variant to compare, like 'two writers:TPCC_TARGETS=a/tpcc b/tpcc', with further variables after a comma (repeatable)")
	fs.IntVar(&f.rounds, "rounds", 6, "how often each step is made")
	fs.DurationVar(&f.measured, "for", 10*time.Second, "measured time of a step")
	fs.DurationVar(&f.warmup, "warmup", 2*time.Second, "time before it, not measured")
	return c
}

func (f *scaleFlags) scale(c *cobra.Command, name string) error {
	file, err := thresholds.Read(c.Context(), f.Thresholds)
	if err != nil {
		return err
	}
	profile, err := file.Profile(name)
	if err != nil {
		return err
	}
	if profile.Named() {
		return hint.With(fmt.Errorf("profile %s has flows: scale measures one scenario", name), "name a profile with one scenario; how much more the flows together can take: assay search "+name)
	}
	s, err := f.plan(c, profile)
	if err != nil {
		return err
	}
	if err := record.CheckEmpty(s.Dir); err != nil {
		return err
	}
	if s.Options, err = f.Options(c, file); err != nil {
		return err
	}
	system, err := f.Acquire(c, s.Console, &s.Options, []spec.Profile{s.Profile}, s.CheckMachine)
	if err != nil {
		return err
	}
	defer system.Release()
	s.Parameters.Target = system.Target
	if dsn := system.Databases.DSN; dsn != "" {
		s.Parameters.Database = databases.Public(dsn)
	}
	if err := s.Check(c.Context()); err != nil {
		return err // no step could be made
	}
	d, err := s.Run(c.Context())
	if len(d.Steps) > 0 {
		err = errors.Join(f.show(c, s, d), err)
	}
	if err == nil && len(d.Losses) > 0 {
		return cli.ExitWith(1)
	}
	return err
}

// plan returns the measurement that the command line requests.
func (f *scaleFlags) plan(c *cobra.Command, p spec.Profile) (*scale.Steps, error) {
	points, err := f.points(p)
	if err != nil {
		return nil, err
	}
	variants, err := parseVariants(f.variants)
	if err != nil {
		return nil, err
	}
	switch {
	case f.rounds < 1:
		return nil, hint.With(fmt.Errorf("--rounds %d: want at least 1", f.rounds), "6 rounds give each ratio an interval")
	case f.measured < time.Second || f.measured%time.Second != 0 || f.warmup < 0 || f.warmup%time.Second != 0:
		return nil, hint.With(errors.New("--for and --warmup must be whole seconds, --for at least 1s"), "for example: --for 10s --warmup 2s")
	}
	s := &scale.Steps{
		Parameters: scale.Parameters{
			ID: "scale-" + trial.NewID(p.Name), Profile: p.Name, Variants: variants, Points: points, Rounds: f.rounds,
			Seconds: f.measured.Seconds(), Seed: f.ChooseSeed(c),
		},
		Profile: p, Warmup: f.warmup, Measured: f.measured,
		Console: &trial.Console{W: c.ErrOrStderr(), Quiet: f.Quiet, Once: true},
	}
	s.Dir = cmp.Or(f.Out, filepath.Join(f.Runs, s.Parameters.ID))
	return s, nil
}

func (f *scaleFlags) points(p spec.Profile) (all []scale.Point, err error) {
	for _, text := range f.threads {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > plan.MaxVUs {
			return nil, hint.With(fmt.Errorf("--threads %s: want whole numbers from 1 to %d", text, plan.MaxVUs), "for example: --threads 1,8,64")
		}
		all = append(all, scale.Point{Threads: n})
	}
	for _, text := range f.rates {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, hint.With(fmt.Errorf("--rates %s: want numbers", text), "for example: --rates 50,100,200")
		}
		if _, err := p.WithRate(rate); err != nil {
			return nil, fmt.Errorf("--rates: %w", err)
		}
		all = append(all, scale.Point{Rate: rate})
	}
	if len(all) == 0 {
		return nil, hint.With(errors.New("neither threads nor rates are given"), "for example: --threads 1,8,64, or --rates 50,100")
	}
	return all, nil
}

// parseVariants reads variants like "two writers:A=1,B=2"; without any there is one.
func parseVariants(texts []string) (all []scale.Variant, err error) {
	if len(texts) == 0 {
		return []scale.Variant{{Name: "as it is"}}, nil
	}
	seen := map[string]bool{}
	for _, text := range texts {
		name, rest, named := strings.Cut(text, ":")
		v := scale.Variant{Name: strings.TrimSpace(name), Env: map[string]string{}}
		for pair := range strings.SplitSeq(rest, ",") {
			key, value, ok := strings.Cut(pair, "=")
			if named = named && ok; named {
				v.Env[strings.TrimSpace(key)] = value
			}
		}
		if !named || v.Name == "" || seen[v.Name] {
			return nil, hint.With(fmt.Errorf("--variant %q: want a name of its own, a colon, and variables", text), "for example: --variant 'two writers:TPCC_TARGETS=a/tpcc b/tpcc'")
		}
		if err := spec.CheckEnv(v.Env); err != nil {
			return nil, fmt.Errorf("--variant %q: %w", text, err)
		}
		seen[v.Name] = true
		all = append(all, v)
	}
	return all, nil
}

// show writes the page, and prints the tables or the document.
func (f *scaleFlags) show(c *cobra.Command, s *scale.Steps, d scale.Document) error {
	p := scale.Page(d)
	html, err := page.HTML(p)
	if err != nil {
		return err
	}
	file := filepath.Join(s.Dir, "scale.html")
	if err := record.WriteFile(file, html); err != nil {
		return err
	}
	return cli.PrintDocument(c, f.JSON, d, p, s.File(), file)
}
