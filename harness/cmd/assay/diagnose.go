package main

import (
	"github.com/spf13/cobra"

	"assay/harness/judge/certificate"
	"assay/harness/judge/certificate/report"
	"assay/harness/judge/page"
	"assay/harness/observe/record"
)

func newDiagnose() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "diagnose RUN",
		Short: "Where the time went, offline",
		Long: `Diagnose reads a sealed run folder and prints where a transaction's time went,
at the baseline and in the judged windows, what sessions of the database waited
for, which statements took most, and the component that made the run miss its
SLOs: with its confidence, what comes second, and the experiment that would
confirm it. It writes nothing, and exits with 0 whatever the verdict was.`,
		Example: `  assay diagnose runs/latest
  assay diagnose runs/latest --json | jq -r .bottleneck.sentence`,
		Args: oneRun,
		RunE: func(c *cobra.Command, args []string) error {
			r, err := record.Open(args[0])
			if err != nil {
				return err
			}
			found := certificate.Of(r)
			text := page.Terminal(report.Diagnosis(found), page.Columns, false)
			if asJSON {
				if text, err = certificate.MarshalDiagnosis(found); err != nil {
					return err
				}
			}
			_, err = c.OutOrStdout().Write(text)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the certificate's fields of it as JSON")
	return c
}
