package main

import (
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"assay/harness/judge/certificate/report"
	"assay/harness/judge/certificate/signature"
	"assay/harness/judge/issue"
	"assay/harness/judge/page"
	"assay/harness/judge/verdict"
	"assay/harness/trial"
)

func newJudge() *cobra.Command {
	var asJSON bool
	var thresholds string
	c := &cobra.Command{
		Use:   "judge RUN",
		Short: "Verdict and certificate again, offline, from the record",
		Long: `Judge reads a sealed run folder and nothing else, and writes certificate.json
there: the same bytes each time. It exits with the verdict's code, as certify
does that was not interrupted.

Where ASSAY_SIGNING_KEY names a key the certificate is signed with it. Without
the key a signed certificate stays as it is, and is never replaced by one that
says something else.

With --thresholds the SLOs and rules of another file decide, those of its
profile of the same name; load, scenario and timeout are the run's. That
certificate says so, and goes to RUN/rejudged/, with a copy of the file; the
run's own stays.`,
		Example: `  assay judge runs/latest
  assay judge runs/latest --json | jq '.rules[] | select(.verdict != "PASS")'
  assay judge runs/latest --thresholds stricter.json`,
		Args: oneRun,
		RunE: func(c *cobra.Command, args []string) error {
			key, err := signingKey()
			if err != nil {
				return err
			}
			judge := func() (r trial.Result, i issue.Issue, err error) {
				if c.Flags().Changed("thresholds") {
					return trial.Rejudge(args[0], thresholds, key)
				}
				if r, err = trial.Open(args[0]); err == nil {
					i, err = trial.Publish(args[0], r, key)
				}
				return r, i, err
			}
			r, i, err := judge()
			if err != nil {
				return err
			}
			if err := printCertificate(c.OutOrStdout(), i, asJSON); err != nil {
				return err
			}
			return exitBy(r.Verdict.Outcome)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print certificate.json instead of the summary")
	c.Flags().StringVar(&thresholds, "thresholds", "", "judge by the SLOs and rules of this file, into RUN/rejudged/")
	return c
}

// signingKeyValue takes the key, or its file's name, out of the environment the
// first time, so that no child of this process inherits it.
var signingKeyValue = sync.OnceValue(func() string {
	value := os.Getenv(signature.KeyEnv)
	_ = os.Unsetenv(signature.KeyEnv) // fails for malformed names alone
	return value
})

// signingKey is the key to sign with; nil where there is none.
func signingKey() (*signature.PrivateKey, error) { return signature.LoadPrivate(signingKeyValue()) }

// exitBy ends the command by the outcome's exit code.
func exitBy(o verdict.Outcome) error {
	if code := o.ExitCode(); code != 0 {
		return exitCode(code)
	}
	return nil
}

// printCertificate prints what was published.
func printCertificate(w io.Writer, i issue.Issue, asJSON bool) error {
	if asJSON {
		_, err := w.Write(i.Data)
		return err
	}
	f, ok := w.(*os.File)
	color := ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
	text := string(page.Terminal(report.Summary(i.Certificate), page.Columns, color)) + "\n  " + i.Path() + "\n"
	if path := i.BundlePath(); path != "" {
		text += "  " + path + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
