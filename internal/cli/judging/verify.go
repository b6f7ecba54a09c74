// SPDX-License-Identifier: Apache-2.0

package judging

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/judge/audit"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/signature"
)

// verifyFlags are the options of `assay verify`.
type verifyFlags struct {
	describe DescribeDatabase

	key  string
	db   string
	json bool

	required                     audit.Required
	allowRejudged, allowUnsealed bool
}

// DescribeDatabase describes the database that a DSN without its password names together with
// the environment.
type DescribeDatabase func(ctx context.Context, dsn, env string) (record.Database, error)

// Verify is the command verify. A program that links no database driver has no
// DescribeDatabase, nil, and no option for it.
func Verify(describe DescribeDatabase) *cobra.Command {
	f := verifyFlags{describe: describe}
	c := &cobra.Command{
		Annotations: cli.Reads,
		Use:         "verify RUN|CERT",
		Short:       "Verify a certificate: signature, evidence, expiry, and the verdict recomputed",
		Long: `Verify takes a run folder, or the certificate in it (certificate.json or
certificate.sigstore.json, also in rejudged/), and checks: the signature, by the
issuer's public key; that certificate.json and the pages beside it are what was
signed; its schema; that the same key sealed the record when the run ended; the
digest of every evidence file; that the evidence gives the same certificate again,
byte for byte by the build that made it, and by another one in all decisions and
figures; expiry; the fingerprint of the environment. It prints what the
certificate is for, its limitations, and the files that no signature covers.

If a check fails, verify names it and exits with 2. Otherwise the exit code is that of
the verdict: 0 PASS, 1 FAIL, 3 INVALID, 4 INCONCLUSIVE. AUTHENTIC does not mean
PASS. Without --key no signature is checked, and the result is UNVERIFIED or
UNSIGNED rather than AUTHENTIC.

A deployment gate names the key and what it deploys: else any certificate that the key
ever signed opens it, such as a smoke of ten seconds, at a lower rate, of another
system, or of last month. docs/trust.md says what a PASS rests on.`,
		Example: `  assay verify runs/latest --key keys/assay.pub
  assay verify runs/latest --key keys/assay.pub --json | jq -r .authentic

  # A gate
  assay verify runs/latest --key keys/assay.pub --profile payment-certificate --scope certificate \
    --target https://pay.test.example --min-rate 500tps --revision "$REVISION" --not-before 24h
`,
		Args: cli.Arguments(1, 1, "verify takes one run folder or certificate", "for example: assay verify runs/latest --key keys/assay.pub"),
		RunE: func(c *cobra.Command, args []string) error { return f.verify(c, args[0]) },
	}
	fs := c.Flags()
	fs.StringVar(&f.key, "key", "", "the issuer's public key, PKIX PEM; without it no signature is checked")
	if describe != nil {
		c.Example += `

  # Is the database still the one that was certified?
  assay verify runs/latest --key keys/assay.pub --db 'assay@tcp(db.test:3306)/shop'`
		fs.StringVar(&f.db, "db", "", "also compare the fingerprint of this database: its DSN without the password, which ASSAY_DB holds")
	}
	fs.BoolVar(&f.json, "json", false, "print the report as JSON")
	fs.Var(requirement{&f.required.Profile}, audit.ProfileCheck, "require a certificate of this profile")
	fs.Var(requirement{&f.required.Target}, audit.Target, "require a certificate for this base URL")
	fs.Var(requirement{&f.required.Scope}, audit.Scope, "require this scope: certificate, or smoke, which a certificate meets too")
	fs.Var(requirement{&f.required.MinRate}, audit.MinRate, "require at least this target rate, with several flows the one that they hold together: in the certificate's unit, or with its unit, like 500tps")
	fs.Var(requirement{&f.required.Revision}, audit.Revision, "require this build of the service under test, as a label of its *_build_info gauge has it (the build of assay itself is the tool of the report)")
	fs.Var(requirement{&f.required.NotBefore}, audit.NotBefore, "require a certificate issued since this time, like 2026-11-20T12:00:00Z, or in this time, like 24h")
	fs.BoolVar(&f.allowRejudged, "allow-rejudged", false, "accept a certificate by other thresholds than those of the run (judge --thresholds)")
	fs.BoolVar(&f.allowUnsealed, "allow-unsealed", false, "accept a record that the issuer's key has not sealed when the run ended")
	return c
}

// requirement is the value of a flag that states what a gate requires, once.
type requirement struct{ text **string }

func (q requirement) Set(text string) error {
	if *q.text != nil {
		return errors.New("it is required twice")
	}
	*q.text = &text
	return nil
}

func (q requirement) String() string { return "" }

func (q requirement) Type() string { return "string" }

func (f *verifyFlags) verify(c *cobra.Command, path string) error {
	o := audit.Options{
		Now: time.Now(), Required: f.required, AllowRejudged: f.allowRejudged, AllowUnsealed: f.allowUnsealed,
	}
	if c.Flags().Changed("key") {
		key, err := signature.ReadPublic(f.key)
		if err != nil {
			return err
		}
		o.Key = &key
	}
	if f.describe != nil && c.Flags().Changed("db") {
		now, err := f.describe(c.Context(), f.db, os.Getenv("ASSAY_DB"))
		if err != nil {
			return err
		}
		o.Database = &now
	}
	r, err := audit.Verify(path, o)
	if err != nil {
		return err
	}
	if err := cli.PrintDocument(c, f.json, r, r.Page()); err != nil {
		return err
	}
	if problem := r.Problem(); problem != "" {
		return cli.Usage(r.Advice(), "%s", problem)
	}
	return cli.ExitWith(r.ExitCode())
}
