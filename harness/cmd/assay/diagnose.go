package main

import (
	"github.com/spf13/cobra"

	"assay/harness/judge/certificate"
	"assay/harness/judge/certificate/report"
	"assay/harness/judge/page"
	"assay/harness/trial"
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
			r, err := trial.Open(args[0])
			if err != nil {
				return err
			}
			found := r.Certificate()
			document := func() ([]byte, error) { return certificate.MarshalDiagnosis(found) }
			return printDocument(c, asJSON, document, func() page.Page { return report.Diagnosis(found) })
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the certificate's fields of it as JSON")
	return c
}
