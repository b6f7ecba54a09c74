package main

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/harness/judge/audit"
	"assay/harness/judge/certificate/signature"
	"assay/harness/lab/system"
	"assay/harness/trial"
)

// verifyFlags are the options of `assay verify`.
type verifyFlags struct {
	key  string
	db   string
	json bool
}

func newVerify() *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Annotations: reads,
		Use:         "verify RUN|CERT",
		Short:       "Verify a certificate: signature, evidence, expiry, and the verdict recomputed",
		Long: `Verify takes a run folder, or the certificate in it (certificate.json or
certificate.sigstore.json, also in rejudged/), and checks: the signature, by the
issuer's public key; that certificate.json is what was signed; its schema; the
digest of every evidence file; that the evidence gives the same certificate again,
byte for byte; expiry; the fingerprint of the environment.

If a check fails, verify names it and exits with 2. Otherwise the exit code is that of
the verdict: 0 PASS, 1 FAIL, 3 INVALID, 4 INCONCLUSIVE. AUTHENTIC does not mean
PASS. Without --key no signature is checked, and the result is UNVERIFIED or
UNSIGNED rather than AUTHENTIC; a deployment gate should name the key.`,
		Example: `  assay verify runs/latest --key keys/assay.pub
  assay verify runs/latest --key keys/assay.pub --json | jq -r .authentic

  # Is the database still the one that was certified?
  assay verify runs/latest --key keys/assay.pub --db 'assay@tcp(db.test:3306)/shop'`,
		Args: arguments(1, 1, "verify takes one run folder or certificate", "for example: assay verify runs/latest --key keys/assay.pub"),
		RunE: func(c *cobra.Command, args []string) error { return f.verify(c, args[0]) },
	}
	fs := c.Flags()
	fs.StringVar(&f.key, "key", "", "the issuer's public key, PKIX PEM; without it no signature is checked")
	fs.StringVar(&f.db, "db", "", "also compare the fingerprint of this database: its DSN without the password, which ASSAY_DB holds")
	fs.BoolVar(&f.json, "json", false, "print the report as JSON")
	return c
}

func (f *verifyFlags) verify(c *cobra.Command, path string) error {
	o := audit.Options{Now: time.Now(), Tool: trial.Tool()}
	if c.Flags().Changed("key") {
		key, err := signature.ReadPublic(f.key)
		if err != nil {
			return err
		}
		o.Key = &key
	}
	if c.Flags().Changed("db") {
		now, err := system.DescribeDatabase(c.Context(), f.db, os.Getenv("ASSAY_DB"))
		if err != nil {
			return err
		}
		o.Database = &now
	}
	r, err := audit.Verify(path, o)
	if err != nil {
		return err
	}
	if err := printDocument(c, f.json, r.Marshal, r.Page); err != nil {
		return err
	}
	if len(r.Broken) > 0 {
		return usage(audit.Advice(r.Broken), "the certificate is broken: %s failed", strings.Join(r.Broken, ", "))
	}
	return exitWith(r.ExitCode())
}
