// SPDX-License-Identifier: Apache-2.0

package judging

import (
	"github.com/spf13/cobra"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/judge/certificate/report"
	"assay.dev/assay/internal/judge/sealed"
)

// Diagnose is the command diagnose.
func Diagnose() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Annotations: cli.Reads,
		Use:         "diagnose RUN",
		Short:       "Print where the time of a run went, and its bottleneck",
		Long: `Diagnose reads a sealed run folder and prints where the time of a transaction
went, at the baseline and in the judged windows, what the sessions of the database
waited for, which statements took most time, and the bottleneck: the component
that made the run miss its SLOs, with the confidence, the runner-up, and the
experiment that would confirm it. It works offline, writes nothing, and exits with
0 for every verdict.`,
		Example: `  assay diagnose runs/latest
  assay diagnose runs/latest --json | jq -r .bottleneck.sentence`,
		Args: cli.OneRun,
		RunE: func(c *cobra.Command, args []string) error {
			r, err := sealed.Open(args[0])
			if err != nil {
				return err
			}
			found := r.Certificate()
			return cli.PrintDocument(c, asJSON, diagnosisOf(found), report.Diagnosis(found))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the diagnosis as JSON, as in certificate.json")
	return c
}

// diagnosis is the part of a certificate that says where the time went.
type diagnosis struct {
	Run        string                  `json:"run"`
	Profile    string                  `json:"profile"`
	Verdict    string                  `json:"verdict"`
	Bottleneck *certificate.Bottleneck `json:"bottleneck"`
	Split      []certificate.Split     `json:"split"`
	Waits      []certificate.Wait      `json:"waits"`
	Statements []certificate.Statement `json:"statements"`
	Resources  []certificate.Resource  `json:"resources"`
}

func diagnosisOf(c certificate.Certificate) diagnosis {
	return diagnosis{c.Run, c.Profile, c.Verdict, c.Bottleneck, c.Split, c.Waits, c.Statements, c.Resources}
}
