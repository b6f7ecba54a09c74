package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"assay/harness/judge/certificate"
	"assay/harness/judge/certificate/report"
	"assay/harness/judge/certificate/signature"
	"assay/harness/judge/issue"
	"assay/harness/judge/page"
	"assay/harness/judge/rejudge"
	"assay/harness/judge/verdict"
	"assay/harness/observe/record"
	"assay/harness/spec"
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
			var j judged
			if c.Flags().Changed("thresholds") {
				j, err = judgeBy(c.OutOrStdout(), args[0], thresholds, key, asJSON)
			} else {
				j, err = judge(c.OutOrStdout(), args[0], key, asJSON)
			}
			if err != nil {
				return err
			}
			if code := j.verdict.Outcome.ExitCode(); code != 0 {
				return exitCode(code)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print certificate.json instead of the summary")
	c.Flags().StringVar(&thresholds, "thresholds", "", "judge by the SLOs and rules of this file, into RUN/rejudged/")
	return c
}

func oneRun(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &usageError{fmt.Sprintf("%s takes one run folder", c.Name()), "like: " + c.CommandPath() + " runs/latest"}
	}
	return nil
}

// judged is a record and what it came to.
type judged struct {
	record  record.Run
	verdict verdict.Verdict
}

// judge makes the certificate of a sealed run folder from nothing but its
// record, writes it there and prints it.
func judge(w io.Writer, dir string, key *signature.PrivateKey, asJSON bool) (judged, error) {
	r, err := record.Open(dir)
	if err != nil {
		return judged{}, err
	}
	j := judged{r, verdict.Judge(r)}
	i, err := issue.New(dir, certificate.Build(r, j.verdict), key)
	if err != nil {
		return judged{}, err
	}
	return j, publish(w, i, r, asJSON)
}

// judgeBy likewise makes another certificate, by other thresholds; the run's
// own stays.
func judgeBy(w io.Writer, dir, thresholds string, key *signature.PrivateKey, asJSON bool) (judged, error) {
	text, err := os.ReadFile(thresholds)
	if err != nil {
		return judged{}, &usageError{fmt.Sprintf("thresholds cannot be read: %v", err), "name a file of profiles: --thresholds FILE"}
	}
	file, err := spec.Decode(thresholds, text)
	if err != nil {
		return judged{}, err
	}
	r, err := rejudge.Open(dir, file)
	if err != nil {
		return judged{}, err
	}
	j := judged{r, verdict.Judge(r)}
	c := certificate.Build(r, j.verdict)
	to := filepath.Join(dir, issue.RejudgedDir)
	i, err := issue.New(to, c, key)
	if err != nil {
		return judged{}, err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return judged{}, fmt.Errorf("write certificate: %w", err)
	}
	if err := record.WriteFile(filepath.Join(to, issue.ThresholdsFile), text); err != nil {
		return judged{}, err
	}
	return j, publish(w, i, r, asJSON)
}

// publish writes what was issued, with what people and CI read of it, and prints
// it.
func publish(w io.Writer, i issue.Issue, r record.Run, asJSON bool) error {
	if err := i.Write(); err != nil {
		return err
	}
	if err := writeReports(filepath.Dir(i.Path()), r, i.Certificate); err != nil {
		return err
	}
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
