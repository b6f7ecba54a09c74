// SPDX-License-Identifier: Apache-2.0

package judging

import (
	"github.com/spf13/cobra"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/judge/certificate/report"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/judge/sealed"
	"assay.dev/assay/internal/signature"
)

// Commands are all commands of this package.
func Commands(describe DescribeDatabase) []*cobra.Command {
	return []*cobra.Command{Judge(), Diagnose(), Verify(describe), Compare(), Frames()}
}

// Judge is the command judge.
func Judge() *cobra.Command {
	var asJSON bool
	var thresholds string
	c := &cobra.Command{
		Annotations: cli.Reads,
		Use:         "judge RUN",
		Short:       "Judge a recorded run again, offline",
		Long: `Judge reads a sealed run folder and nothing else, and writes certificate.json
there, with the same bytes each time. The exit code is that of the verdict, as for
certify.

If ASSAY_SIGNING_KEY names a key, the certificate is signed with it. If that key has
not sealed the record when the run ended, the certificate says so, and verify refuses
it: anybody may have made such a record. Without the key a signed certificate is kept,
and never replaced by a different one.

With --thresholds it uses the SLOs and rules of the profile of the same name in
another file; load, scenario and timeout remain those of the run. That certificate
says so, and is written to RUN/rejudged/ with a copy of the file; the certificate
of the run itself is not changed.`,
		Example: `  assay judge runs/latest
  assay judge runs/latest --json | jq '.rules[] | select(.verdict != "PASS")'
  assay judge runs/latest --thresholds stricter.json`,
		Args: cli.OneRun,
		RunE: func(c *cobra.Command, args []string) error {
			key, err := signature.FromEnvironment()
			if err != nil {
				return err
			}
			judge := func() (r sealed.Result, i issue.Issue, err error) {
				if c.Flags().Changed("thresholds") {
					return sealed.Rejudge(c.Context(), args[0], thresholds, key)
				}
				if r, err = sealed.Open(args[0]); err == nil {
					i, err = sealed.Publish(args[0], r, key)
				}
				return r, i, err
			}
			r, i, err := judge()
			if err != nil {
				return err
			}
			if err := PrintCertificate(c, i, asJSON); err != nil {
				return err
			}
			return cli.ExitWith(r.Verdict.Outcome.ExitCode())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print certificate.json instead of the summary")
	c.Flags().StringVar(&thresholds, "thresholds", "", "judge by the SLOs and rules of this file, into RUN/rejudged/")
	return c
}

// PrintCertificate prints a published certificate.
func PrintCertificate(c *cobra.Command, i issue.Issue, asJSON bool) error {
	paths := []string{i.Path()}
	if bundle := i.BundlePath(); bundle != "" {
		paths = append(paths, bundle)
	}
	return cli.PrintDocument(c, asJSON, i.Data, report.Summary(i.Certificate), paths...)
}
