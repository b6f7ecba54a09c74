package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/cli/judging"
	"assay.dev/assay/internal/cli/making"
	"assay.dev/assay/internal/thresholds"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/judge/sealed"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/series/search"
	"assay.dev/assay/internal/signature"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
	"assay.dev/assay/internal/trial/attempts"
)

// certifyFlags are the options of `assay certify`.
type certifyFlags struct {
	making.Flags
	fleet    fleetFlags
	load     making.Load
	scope    string
	k6Out    []string
	id       string        // id of a run that was named elsewhere; empty: name it here
	headroom time.Duration // search for the highest rate after a PASS
	earlier  string        // attempts before a run that was counted elsewhere; empty: count it here
	make     trial.Maker
}

func newCertify() *cobra.Command {
	f := certifyFlags{make: trial.Run}
	c := &cobra.Command{
		Use:   "certify PROFILE... [-- COMMAND]",
		Short: "Run profiles and certify: PASS, FAIL, INVALID or INCONCLUSIVE",
		Long: `Certify runs each profile of thresholds.json in turn: open-model load from k6
workers, the database's waits on the same clock, one record, one verdict.

Without --target or ASSAY_TARGET it uses the local stack (assay-lab stack), which it
starts if it is down, and stops again afterwards.

ASSAY_DB is the DSN of the target's database, like
user:password@tcp(127.0.0.1:3306)/shop or postgres://user:password@127.0.0.1:5432/shop;
--db may name it without the password. A MySQL DSN may have tlsCA=FILE, the
certificate authorities to trust, and iamRegion=REGION, to log in with IAM. With
--db pi:RESOURCE-ID?region=REGION the waits are read from Amazon's Performance
Insights; ASSAY_DB, if set, is then the DSN of the same database, for the ledger.

A profile with stubs needs the token of theirs in ASSAY_STUB_TOKEN (assay help stub).
With the local stack, certify starts those that have a file.

With ASSAY_INFLUX_URL, or an InfluxDB in the local stack, the run is written there
as it goes on (assay help influx). With ASSAY_SIGNING_KEY certificates are signed
(assay help keygen).

With --engine join it waits for workers on other machines (assay help worker), which
show the token of ASSAY_JOIN_TOKEN, or a random one that it prints. With --engine
kubernetes it starts workers as pods in a cluster, and with --engine k6-operator as
runners of the k6-operator; they must reach --listen or --advertise. To run all of it
in the cluster: assay kubernetes certify.

With --engine exec it runs the command after -- once for each worker, which is to start
"assay worker --join $ASSAY_JOIN" here or elsewhere, with the token of ASSAY_JOIN_TOKEN,
and to end with it. ASSAY_WORKER is its number, from 0. A single argument is for the
shell.

The run folder has the certificate as certificate.json, certificate.html (with
charts), certificate.md and junit.xml. If GITHUB_STEP_SUMMARY names a file, as on
GitHub Actions, the Markdown is appended to it.`,
		Example: `  assay certify payment ingestion
  assay certify event --headroom
  assay certify payment --rate 300 --hold 2m
  assay certify checkout --target http://127.0.0.1:8080 --out runs/before-sale
  assay certify payment --json | jq .verdict

  # A remote service and its database; the password stays in the environment.
  export ASSAY_DB='assay:secret@tcp(db.test:3306)/shop'
  assay certify checkout --target http://shop.test:8080 --allow-target shop.test

  # Four workers on other machines, each started with the line that this prints.
  assay certify checkout --target http://shop.test:8080 --allow-target shop.test \
    --engine join --workers 4 --listen 10.0.0.5:7077

  # The same, started from here by SSH.
  assay certify checkout --target http://shop.test:8080 --allow-target shop.test \
    --engine exec --workers 4 --listen 10.0.0.5:7077 -- \
    'echo $ASSAY_JOIN_TOKEN | ssh load-$ASSAY_WORKER "ASSAY_JOIN_TOKEN=\$(cat) assay worker --join $ASSAY_JOIN"'

  # Continue such a run, whose coordinator was killed under load, within 30 s.
  export ASSAY_JOIN_TOKEN=...
  assay certify --resume runs/20261123T141434Z-checkout-d60c`,
		Args: func(c *cobra.Command, args []string) error {
			args = f.fleet.takeCommand(c, args)
			if f.fleet.resume != "" {
				return nil // the run has its profile
			}
			return cli.Arguments(1, math.MaxInt, "no profile was named", "for example: assay certify payment")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error { return f.certify(c, f.fleet.takeCommand(c, args)) },
	}
	f.AddSystem(c)
	f.fleet.add(c)
	f.load.Add(c)
	f.AddResult(c, "run folder; with several profiles, their parent folder (default: runs/RUN-ID)",
		"seed of arrivals and data (default: a random one, recorded)", "print certificate.json instead of the summary")
	c.Flags().StringVar(&f.scope, "scope", "", "smoke, or certificate, which requires a hold of 600 s (default: by the length of the hold)")
	c.Flags().DurationVar(&f.headroom, "headroom", 0, "after a PASS, search for the highest rate within the SLOs, by trials of this length (4 to 13 minutes), and state it beside the claim")
	c.Flags().Lookup("headroom").NoOptDefVal = search.DefaultTrial.String()
	c.Flags().StringVar(&f.earlier, "earlier", "", "attempts before this run, which were counted elsewhere")
	c.Flags().StringVar(&f.id, "run-id", "", "id of this run, which was named elsewhere")
	_, _ = c.Flags().MarkHidden("earlier"), c.Flags().MarkHidden("run-id")
	c.Flags().StringArrayVar(&f.k6Out, "k6-out", nil, "additional k6 output of the workers, like csv=raw-%d.csv; it costs throughput and tags each VU")
	return c
}

func (f *certifyFlags) certify(c *cobra.Command, names []string) error {
	key, err := signature.FromEnvironment() // a bad key must fail before minutes of load
	if err != nil {
		return err
	}
	runs, err := f.plan(c, names)
	if err != nil {
		return err
	}
	if err := f.fleet.connect(c, runs); err != nil || f.fleet.kubernetes.dryRun {
		return err
	}
	if f.headroom != 0 {
		if f.Remote || f.fleet.resume != "" {
			return hint.With(errors.New("--headroom needs workers that this command starts: its trials are runs of their own"), "certify without it, and then: assay search "+runs[0].Profile.Name)
		}
		if err := each(runs, func(o run.Options) error { return search.CheckHeadroom(o, f.headroom) }); err != nil {
			return err
		}
	}
	console := &trial.Console{W: c.ErrOrStderr(), Quiet: f.Quiet}
	profiles := make([]spec.Profile, len(runs))
	for i, o := range runs {
		profiles[i] = o.Profile
	}
	s, err := f.Acquire(c, console, &runs[0], profiles, func() error { return each(runs, run.CheckMachine) })
	if err != nil {
		return err
	}
	defer s.Release()
	for i := range runs {
		s.Configure(&runs[i])
	}
	if f.Out == "" {
		if err := trial.CheckLatest(f.Runs); err != nil {
			return err
		}
	}
	if len(runs) > 1 { // the last run, too, must fail before the first load; a single run checks itself
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

// plan returns the options of each profile's run, without the system under test.
func (f *certifyFlags) plan(c *cobra.Command, names []string) ([]run.Options, error) {
	file, err := thresholds.Read(c.Context(), f.Thresholds)
	if err != nil {
		return nil, err
	}
	for _, out := range f.k6Out {
		if _, to, _ := strings.Cut(out, "="); mask.Holds(to) {
			return nil, cli.Usage("write to a file instead, like --k6-out csv=raw-%d.csv; certify writes to InfluxDB by ASSAY_INFLUX_URL and ASSAY_INFLUX_TOKEN",
				"--k6-out holds a password or token, which every user of the workers' hosts can read")
		}
	}
	f.Remote = !f.fleet.chosen().here
	shared, err := f.Options(c, file)
	if err != nil {
		return nil, err
	}
	if err := f.fleet.apply(&shared); err != nil {
		return nil, err
	}
	if f.fleet.resume != "" {
		runs, err := f.fleet.continued(shared, names)
		if err == nil {
			f.Target, f.Out = runs[0].Target, f.fleet.resume
		}
		return runs, err
	}
	change := f.load.Change(c)
	profiles, err := change.Profiles(file, names)
	if err != nil {
		return nil, err
	}
	shared.Overrides, shared.Scope, shared.Seed, shared.Outputs = change.Texts(), f.scope, f.ChooseSeed(c), f.k6Out
	runs, err := trial.Runs(shared, profiles, f.Out)
	if err != nil || f.id == "" {
		return runs, err
	}
	count, err := attempts.Handed(f.earlier)
	for i := range runs {
		runs[i].ID, runs[i].Count = f.id, count
	}
	return runs, err
}

// runAll certifies one profile after the other.
func (f *certifyFlags) runAll(c *cobra.Command, console *trial.Console, runs []run.Options, key *signature.PrivateKey) error {
	latest := ""
	if f.Out == "" || f.fleet.resumesIn(f.Runs) {
		latest = f.Runs
	}
	var results []sealed.Result
	worst := verdict.Outcome(0)
	for _, o := range runs {
		r, i, err := trial.Certify(c.Context(), o, console, key, latest, f.make)
		if err != nil {
			return err
		}
		if err := judging.PrintCertificate(c, i, f.JSON); err != nil {
			return err
		}
		if f.headroom != 0 && r.Verdict.Outcome == verdict.Pass && c.Context().Err() == nil {
			// The verdict stands without it.
			if err := f.findHeadroom(c, o, r, console, key); err != nil && c.Context().Err() == nil {
				fmt.Fprintf(c.ErrOrStderr(), "%s: its headroom was not found: %s\n", o.Profile.Name, page.Message(err.Error()))
			}
		}
		worst, results = verdict.Worse(worst, r.Verdict.Outcome), append(results, r)
		if c.Context().Err() != nil {
			return cli.ExitCode(cli.ExitInterrupted)
		}
	}
	if !f.JSON && !f.Quiet {
		if _, err := io.WriteString(c.OutOrStdout(), trial.Next(runs, results)); err != nil {
			return err
		}
	}
	return cli.ExitWith(worst.ExitCode())
}

// findHeadroom searches for the highest rate within the SLOs of a run that passed, and states
// it beside the claim.
func (f *certifyFlags) findHeadroom(c *cobra.Command, o run.Options, r sealed.Result, console *trial.Console, key *signature.PrivateKey) error {
	d, err := search.Headroom(c.Context(), o, f.headroom, console)
	if err != nil && len(d.Probes) == 0 {
		return err
	}
	if _, err := sealed.PublishSearch(o.Dir, r, key); err != nil {
		return err
	}
	if !f.JSON {
		fmt.Fprintf(c.OutOrStdout(), "beside the claim, not certified: %s\n", d.Sentence)
	}
	return err
}
