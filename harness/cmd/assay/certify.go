package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"assay/harness/judge/certificate/signature"
	"assay/harness/judge/verdict"
	"assay/harness/run"
	"assay/harness/spec"
)

// certifyFlags are the options of `assay certify`.
type certifyFlags struct {
	thresholds string
	rate       float64
	hold       time.Duration
	workers    int
	target     string
	allow      []string
	db         string
	readers    []string
	scope      string
	out        string
	runs       string
	seed       uint64
	k6Out      []string
	keepStack  bool
	json       bool
	quiet      bool
}

func newCertify() *cobra.Command {
	var f certifyFlags
	c := &cobra.Command{
		Use:   "certify PROFILE...",
		Short: "Run profiles and certify: PASS, FAIL, INVALID or INCONCLUSIVE",
		Long: `Certify runs each profile of thresholds.json in turn: open-model load from k6
workers, the database's waits on the same clock, one record, one verdict.

Without --target or ASSAY_TARGET it uses the local stack (assay stack), which
it starts when it is not up, and stops again then. The database behind a
target is named by ASSAY_DB, a DSN like user:password@tcp(127.0.0.1:3306)/shop
or postgres://user:password@127.0.0.1:5432/shop, or by --db without the password.
With --db pi:RESOURCE-ID?region=REGION the waits are read from Amazon's
Performance Insights instead, and ASSAY_DB, if it is set, is the same database's
DSN, for the ledger. A DSN of MySQL may have tlsCA=FILE, the certificate
authorities to trust, and iamRegion=REGION, to log in by IAM. Where
ASSAY_INFLUX_URL names an InfluxDB, or
the local stack has one, the run is shown there while it goes on (assay help
influx). Where ASSAY_SIGNING_KEY names a key, or holds its PEM, certificates are
signed with it (assay help keygen).

The run folder has the certificate as certificate.json, certificate.html (with
charts), certificate.md and junit.xml. Where GITHUB_STEP_SUMMARY names a file, as
on GitHub Actions, the Markdown is appended to it.`,
		Example: `  assay certify payment ingestion
  assay certify payment --rate 300 --hold 2m
  assay certify checkout --target http://127.0.0.1:8080 --out runs/before-sale
  assay certify payment --json | jq .verdict

  # A service elsewhere, and its database: the password stays in the environment.
  export ASSAY_DB='assay:secret@tcp(db.test:3306)/shop'
  assay certify checkout --target http://shop.test:8080 --allow-target shop.test`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{"no profile is named", "assay certify PROFILE..., as in: assay certify payment"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.certify(c, args) },
	}
	f.addShared(c)
	fs := c.Flags()
	fs.StringVar(&f.scope, "scope", "", fmt.Sprintf("smoke, or certificate: refuses windows under %.0f s (default: by the window)", spec.CertificateWindow.Seconds()))
	fs.StringVar(&f.out, "out", "", "run folder; several profiles get one each below it (default: runs/RUN-ID)")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of arrivals and data (default: a random one, recorded)")
	fs.StringArrayVar(&f.k6Out, "k6-out", nil, "further k6 output of the workers, like csv=raw-%d.csv; it costs throughput, and gets a tag for each VU")
	fs.BoolVar(&f.keepStack, "keep-stack", false, "leave a stack that this command started up")
	fs.BoolVar(&f.json, "json", false, "print certificate.json instead of the summary")
	fs.BoolVar(&f.quiet, "quiet", false, "no progress")
	return c
}

// addShared adds the options that say what is run against what.
func (f *certifyFlags) addShared(c *cobra.Command) {
	f.addWhere(c)
	fs := c.Flags()
	fs.Float64Var(&f.rate, "rate", 0, "target rate instead of the profile's; the baseline scales with it")
	fs.DurationVar(&f.hold, "hold", 0, "length of the hold window instead of the profile's")
}

// addWhere adds those of them that every load needs, whatever its rate.
func (f *certifyFlags) addWhere(c *cobra.Command) {
	c.PreRun = func(*cobra.Command, []string) { f.environment() }
	fs := c.Flags()
	fs.StringVar(&f.thresholds, "thresholds", "thresholds.json", "file of profiles")
	fs.IntVar(&f.workers, "workers", 1, "number of k6 workers")
	fs.StringVar(&f.target, "target", "", "base URL of the system under test (default: ASSAY_TARGET, or else the local stack)")
	fs.StringArrayVar(&f.allow, "allow-target", nil, "host that load may be sent to, beside loopback, the file's targets and ASSAY_ALLOW_TARGET")
	fs.StringVar(&f.db, "db", "", "database DSN without the password, which ASSAY_DB holds; or pi:RESOURCE-ID?region=REGION, to read its waits from Performance Insights")
	fs.StringArrayVar(&f.readers, "db-reader", nil, "DSN of a replica whose lag is watched (replica_lag), without the password: that of ASSAY_DB's user is taken")
	fs.StringVar(&f.runs, "runs", "runs", "folder of run folders")
}

func (f *certifyFlags) certify(c *cobra.Command, names []string) error {
	ctx := c.Context()
	key, err := signingKey() // before minutes of load are spent
	if err != nil {
		return err
	}
	file, err := readThresholds(f.thresholds)
	if err != nil {
		return err
	}
	if !c.Flags().Changed("seed") {
		f.seed = randomSeed()
	}
	profiles, err := f.profiles(c, file, names)
	if err != nil {
		return err
	}
	g, err := f.prepare(c, func(executable string) error {
		for _, o := range f.options(c, file, profiles, executable) {
			if err := run.CheckMachine(o); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer g.leave()
	runs := f.options(c, file, profiles, g.executable)
	for i := range runs {
		g.furnish(ctx, &runs[i])
	}
	if err := f.checkBefore(ctx, runs); err != nil {
		return err
	}
	return f.each(c, file, runs, key)
}

// foretell says which SLOs a run's plan cannot let pass, before minutes of load are
// spent, and as soon as nothing stands in the way of it.
func (f *certifyFlags) foretell(p *progress, o run.Options) {
	found, err := f.forecasts(o.Profile)
	if err != nil || len(found) == 0 {
		return // a run without such an SLO; or the run says what is wrong
	}
	enough := true
	for _, one := range found {
		if why, remedy := undecidable(one); why != "" {
			enough = false
			p.tell(run.Event{Kind: run.Note, Text: why + "; " + remedy})
		}
	}
	if enough {
		p.tell(run.Event{Kind: run.Step, Text: fmt.Sprintf("the plan has samples enough for its %d percentiles and rates", len(found))})
	}
}

// environment takes from the environment what no option says: a container's
// command is then the same as a developer's.
func (f *certifyFlags) environment() {
	if f.target == "" {
		f.target = os.Getenv("ASSAY_TARGET")
	}
	if host := os.Getenv("ASSAY_ALLOW_TARGET"); host != "" {
		f.allow = append(f.allow, host)
	}
}

// options are those of each profile's run, but for its database.
func (f *certifyFlags) options(c *cobra.Command, file spec.File, profiles []spec.Profile, executable string) []run.Options {
	runs := make([]run.Options, len(profiles))
	for i, profile := range profiles {
		id := runID(profile.Name)
		dir, attempt := f.folder(id, profile.Name, len(profiles) > 1)
		runs[i] = run.Options{
			ID: id, Dir: dir, File: file, Profile: profile, Overrides: f.overrides(c), Workers: f.workers,
			Seed: f.seed, Target: f.target, AllowHosts: f.allow, Journal: f.runs, Scope: f.scopeOf(profile), Outputs: f.k6Out,
			Executable: executable, Tool: tool(), Attempt: attempt, Undecided: verdict.Undecided,
		}
	}
	return runs
}

// checkBefore finds what is wrong with a later run before minutes of load go
// to the first.
func (f *certifyFlags) checkBefore(ctx context.Context, runs []run.Options) error {
	if f.out == "" {
		if err := checkLatest(f.runs); err != nil {
			return err
		}
	}
	if len(runs) == 1 {
		return nil // it checks itself
	}
	for _, o := range runs {
		if err := run.Check(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// each runs and judges one after the other.
func (f *certifyFlags) each(c *cobra.Command, file spec.File, runs []run.Options, key *signature.PrivateKey) error {
	ctx := c.Context()
	var done []judged
	worst := verdict.Outcome(0)
	for _, o := range runs {
		p := newProgress(c.ErrOrStderr(), o.Profile.Name, f.quiet)
		foretold := false
		o.Progress = func(e run.Event) {
			if !foretold {
				foretold = true
				f.foretell(p, o)
			}
			p.tell(e)
		}
		err := run.Run(ctx, o)
		p.end()
		if err != nil {
			return err
		}
		if f.out == "" {
			if err := linkLatest(f.runs, o.ID); err != nil {
				return err
			}
		}
		j, err := judge(c.OutOrStdout(), o.Dir, key, f.json)
		if err != nil {
			return err
		}
		if err := summarise(o.Dir); err != nil { // it changes nothing of the verdict
			fmt.Fprintf(c.ErrOrStderr(), "%s: the job's summary does not show it: %v\n", o.Profile.Name, err)
		}
		if o.View != nil {
			if err := showVerdict(ctx, o.View, j); err != nil {
				p.tell(run.Event{Kind: run.Note, Text: "the verdict is not shown: " + err.Error()})
			}
		}
		worst, done = verdict.Worse(worst, j.verdict.Outcome), append(done, j)
		if ctx.Err() != nil {
			return exitCode(exitInterrupted)
		}
	}
	if !f.json && !f.quiet {
		if err := f.tellNext(c.OutOrStdout(), file, runs, done); err != nil {
			return err
		}
	}
	if code := worst.ExitCode(); code != 0 {
		return exitCode(code)
	}
	return nil
}

func readThresholds(path string) (spec.File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		hint := "name it with --thresholds FILE"
		return spec.File{}, &usageError{fmt.Sprintf("thresholds cannot be read: %v", err), hint}
	}
	return spec.Decode(path, data)
}
