package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/harness/judge/audit"
	"assay/harness/judge/certificate/signature"
	"assay/harness/observe/collect/databases"
	"assay/harness/observe/record"
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
		Use:   "verify RUN|CERT",
		Short: "Is a certificate authentic, whole and in force? Its verdict, recomputed",
		Long: `Verify takes a run folder, or the certificate in it (certificate.json or
certificate.sigstore.json, also those below rejudged/), and checks: signature,
by the issuer's public key; that certificate.json is what was signed; its
schema; the digest of every evidence file; that the verdict comes out the same
from the evidence, byte for byte; expiry; fingerprint of the environment.

A certificate that is broken in any of these ends with 2, and each failure has
its name. Else the exit code is the verdict's: 0 PASS, 1 FAIL, 3 INVALID,
4 INCONCLUSIVE. AUTHENTIC is one thing, PASS another. Without --key nobody's
signature is checked, and the first says UNVERIFIED or UNSIGNED instead; a gate
names the key.`,
		Example: `  assay verify runs/latest --key keys/assay.pub
  assay verify runs/latest --key keys/assay.pub --json | jq -r .authentic

  # Is the database still the one that was certified?
  assay verify runs/latest --key keys/assay.pub --db 'assay@tcp(db.test:3306)/shop'`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{"verify takes one run folder or certificate", "like: " + c.CommandPath() + " runs/latest --key keys/assay.pub"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.verify(c, args[0]) },
	}
	fs := c.Flags()
	fs.StringVar(&f.key, "key", "", "the issuer's public key, PKIX PEM; without it no signature is checked")
	fs.StringVar(&f.db, "db", "", "compare the database as it is now: its DSN without the password, which ASSAY_DB holds")
	fs.BoolVar(&f.json, "json", false, "print the report as JSON")
	return c
}

func (f *verifyFlags) verify(c *cobra.Command, path string) error {
	o := audit.Options{Now: time.Now(), Tool: tool()}
	if c.Flags().Changed("key") {
		text, err := os.ReadFile(f.key)
		if err != nil {
			return &usageError{"the public key cannot be read: " + err.Error(), "name the issuer's: --key assay.pub"}
		}
		key, err := signature.ParsePublic(text)
		if err != nil {
			return unusableKey("--key "+f.key, err)
		}
		o.Key = &key
	}
	if c.Flags().Changed("db") {
		now, err := presentDatabase(c.Context(), f.db)
		if err != nil {
			return err
		}
		o.Database = &now
	}
	r, err := audit.Verify(path, o)
	if errors.Is(err, audit.ErrNoCertificate) {
		return &usageError{err.Error(), "name a run folder, or the certificate.json in one, like: assay verify runs/latest"}
	}
	if err != nil {
		return err
	}
	out := c.OutOrStdout()
	if f.json {
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		err = r.Text(out)
	}
	if err != nil {
		return err
	}
	if len(r.Broken) > 0 {
		return &usageError{fmt.Sprintf("the certificate is broken: %s failed", strings.Join(r.Broken, ", ")), mend(r.Broken)}
	}
	if code := r.ExitCode(); code != 0 {
		return exitCode(code)
	}
	return nil
}

// mend is the next step for who holds a certificate that is broken in these
// checks.
func mend(broken []string) string {
	switch only := broken[0]; {
	case len(broken) > 1:
	case only == audit.Signature:
		return "name the issuer's own public key with --key; if it is, do not rely on the certificate"
	case only == audit.Expiry, only == audit.Database, only == audit.Fingerprint:
		return "certify again: what was certified is no longer what is there"
	case only == audit.Verdict:
		return "verify with the version of assay that judged it, or judge the run again with this one"
	}
	return "do not rely on it: ask the issuer for the run folder as it was sealed"
}

// presentDatabase describes the database as it is now; nothing of it changes.
func presentDatabase(ctx context.Context, flag string) (record.Database, error) {
	dsn, err := databaseDSN(flag, os.Getenv("ASSAY_DB"), "--db")
	if err != nil {
		return record.Database{}, err
	}
	collector := databases.New(dsn, "")
	now, err := collector.Describe(ctx)
	if err := errors.Join(err, collector.Close()); err != nil {
		return record.Database{}, &usageError{"the database cannot be compared: " + databases.Reason(err), "check --db, and the password in ASSAY_DB; or leave --db out"}
	}
	return now, nil
}
