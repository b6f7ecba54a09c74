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
	"assay/harness/judge/diagnose"
	"assay/harness/judge/verdict"
	"assay/harness/observe/record"
)

const certificateFile = "certificate.json"

func newJudge() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "judge RUN",
		Short: "Verdict and certificate again, offline, from the record",
		Long: `Judge reads a sealed run folder and nothing else, and writes certificate.json
there: the same bytes each time. It exits with the verdict's code, as certify
does that was not interrupted.`,
		Example: `  assay judge runs/latest
  assay judge runs/latest --json | jq '.rules[] | select(.verdict != "PASS")'`,
		Args: oneRun,
		RunE: func(c *cobra.Command, args []string) error {
			j, err := judge(c.OutOrStdout(), args[0], asJSON)
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
func judge(w io.Writer, dir string, asJSON bool) (judged, error) {
	r, err := record.Open(dir)
	if err != nil {
		return judged{}, err
	}
	j := judged{r, verdict.Judge(r)}
	c := certificate.Build(r, j.verdict, diagnose.Waits(r))
	data, err := certificate.Marshal(c)
	if err != nil {
		return judged{}, err
	}
	if err := record.WriteFile(filepath.Join(dir, certificateFile), data); err != nil {
		return judged{}, err
	}
	if err := writeReports(dir, r, c); err != nil {
		return judged{}, err
	}
	if asJSON {
		_, err = w.Write(data)
		return j, err
	}
	f, ok := w.(*os.File)
	color := ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
	_, err = fmt.Fprintf(w, "%s\n  %s\n", report.Terminal(c, color), filepath.Join(dir, certificateFile))
	return j, err
}
