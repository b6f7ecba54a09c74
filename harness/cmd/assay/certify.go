package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"assay/harness/judge/certificate/signature"
	"assay/harness/judge/verdict"
	"assay/harness/observe/record"
	"assay/harness/run"
	"assay/harness/spec"
	"assay/harness/trial"
)

// certifyFlags are the options of `assay certify`.
type certifyFlags struct {
	runFlags
	load  loadFlags
	scope string
	k6Out []string
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
				return usage("assay certify PROFILE..., as in: assay certify payment", "no profile is named")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.certify(c, args) },
	}
	f.addSystem(c)
	f.load.add(c)
	f.addResult(c, "run folder; several profiles get one each below it (default: runs/RUN-ID)",
		"seed of arrivals and data (default: a random one, recorded)", "print certificate.json instead of the summary")
	c.Flags().StringVar(&f.scope, "scope", "", "smoke, or certificate: refuses windows under 600 s (default: by the window)")
	c.Flags().StringArrayVar(&f.k6Out, "k6-out", nil, "further k6 output of the workers, like csv=raw-%d.csv; it costs throughput, and gets a tag for each VU")
	return c
}

func (f *certifyFlags) certify(c *cobra.Command, names []string) error {
	key, err := signingKey() // before minutes of load are spent
	if err != nil {
		return err
	}
	file, err := readThresholds(f.thresholds)
	if err != nil {
		return err
	}
	f.chooseSeed(c)
	runs, err := f.plan(c, file, names)
	if err != nil {
		return err
	}
	console := f.console(c)
	s, err := f.acquire(c, console, &runs[0], func() error { return each(runs, run.CheckMachine) })
	if err != nil {
		return err
	}
	defer s.Release()
	for i := range runs {
		s.Configure(&runs[i])
	}
	if f.out == "" {
		if err := trial.CheckLatest(f.runs); err != nil {
			return err
		}
	}
	if len(runs) > 1 { // what is wrong with a later run; a single one checks itself
		if err := each(runs, func(o run.Options) error { return run.Check(c.Context(), o) }); err != nil {
			return err
		}
	}
	return f.runAll(c, console, runs, key)
}

func each(runs []run.Options, do func(run.Options) error) error {
	for _, o := range runs {
		if err := do(o); err != nil {
			return err
		}
	}
	return nil
}

// plan are the options of each profile's run, but for the system under test.
func (f *certifyFlags) plan(c *cobra.Command, file spec.File, names []string) (runs []run.Options, err error) {
	if err := f.checkWorkers(); err != nil {
		return nil, err
	}
	switch f.scope {
	case "", spec.ScopeSmoke, spec.ScopeCertificate:
	default:
		return nil, fmt.Errorf("--scope is %q: smoke or certificate", f.scope)
	}
	profiles, err := f.load.profiles(c, file, names)
	if err != nil {
		return nil, err
	}
	for _, p := range profiles {
		o, err := f.options(c, file)
		if err != nil {
			return nil, err
		}
		o.ID, o.Profile, o.Overrides, o.Seed, o.Scope = trial.NewID(p.Name), p, f.load.changes(c), f.seed, f.scopeOf(p)
		if o.Scope == spec.ScopeCertificate && p.TargetHold() < spec.CertificateHold {
			return nil, usage("lengthen it with --hold 10m, or leave --scope out",
				"profile %s holds its target for %s: a certificate takes at least %s", p.Name, p.TargetHold(), spec.CertificateHold)
		}
		o.Outputs, o.Undecided = f.k6Out, verdict.Undecided
		switch {
		case f.out == "":
			o.Dir, o.Attempt = filepath.Join(f.runs, o.ID), record.Attempts(f.runs, p.Name, o.Tool.Revision)+1
		case len(profiles) > 1:
			o.Dir = filepath.Join(f.out, p.Name)
		default:
			o.Dir = f.out
		}
		runs = append(runs, o)
	}
	return runs, nil
}

func (f *certifyFlags) scopeOf(p spec.Profile) string {
	if f.scope != "" {
		return f.scope
	}
	return p.Scope()
}

// runAll runs and certifies one after the other.
func (f *certifyFlags) runAll(c *cobra.Command, console *trial.Console, runs []run.Options, key *signature.PrivateKey) error {
	var results []trial.Result
	worst := verdict.Outcome(0)
	for _, o := range runs {
		r, err := f.run(c, console, o, key)
		if err != nil {
			return err
		}
		worst, results = verdict.Worse(worst, r.Verdict.Outcome), append(results, r)
		if c.Context().Err() != nil {
			return exitCode(exitInterrupted)
		}
	}
	if !f.json && !f.quiet {
		if err := printNext(c.OutOrStdout(), runs, results); err != nil {
			return err
		}
	}
	return exitBy(worst)
}

// run makes one run, and publishes and prints its certificate.
func (f *certifyFlags) run(c *cobra.Command, console *trial.Console, o run.Options, key *signature.PrivateKey) (trial.Result, error) {
	p := console.Progress(o.Profile.Name)
	p.First = func() { forecast(p, o) }
	r, err := trial.Run(c.Context(), o, p)
	if err != nil {
		return r, err
	}
	if f.out == "" {
		if err := trial.LinkLatest(f.runs, o.ID); err != nil {
			return r, err
		}
	}
	i, err := trial.Publish(o.Dir, r, key)
	if err != nil {
		return r, err
	}
	if err := printCertificate(c.OutOrStdout(), i, f.json); err != nil {
		return r, err
	}
	if err := trial.AppendStepSummary(o.Dir); err != nil { // the verdict stays what it is
		fmt.Fprintf(c.ErrOrStderr(), "%s: the job's summary does not show it: %v\n", o.Profile.Name, err)
	}
	return r, nil
}

// forecast tells which SLOs the plan cannot let pass, before minutes of load are
// spent.
func forecast(p *trial.Progress, o run.Options) {
	found, err := trial.Forecast(o.Profile, o.Workers, o.Scope, o.Journal)
	if err != nil || len(found) == 0 {
		return // no SLO needs samples; or the run tells the error
	}
	enough := true
	for _, one := range found {
		if why, remedy := trial.Undecidable(one); why != "" {
			enough = false
			p.Note(why + "; " + remedy)
		}
	}
	if enough {
		p.Step("the plan has samples enough for its %d percentiles and rates", len(found))
	}
}
