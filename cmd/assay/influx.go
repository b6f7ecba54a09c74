package main

import (
	"github.com/spf13/cobra"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/judge/sealed"

	"assay.dev/assay/internal/observe/influx"
	"assay.dev/assay/internal/system"
	"assay.dev/assay/internal/trial"
)

func newInflux() *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "influx",
		Short: "Write runs to InfluxDB, for Grafana",
		Long: `Influx writes runs to InfluxDB, where the Grafana dashboards read them. Certify does
so during the run if ASSAY_INFLUX_URL names a server, like http://127.0.0.1:8086 or
http://127.0.0.1:8086?db=assay (assay is the default database), or if the local
stack has one (assay-lab stack up, with influxd installed).

ASSAY_INFLUX_TOKEN is user:password for InfluxDB 1.x, or the token for 2 and 3.`,
		Example: "  assay influx push runs/latest",
	})
	c.AddCommand(newInfluxPush())
	return c
}

func newInfluxPush() *cobra.Command {
	var quiet bool
	c := &cobra.Command{
		Use:   "push RUN",
		Short: "Write a recorded run to InfluxDB",
		Long: `Push writes every second of a sealed record, and its verdict, to the server named
by ASSAY_INFLUX_URL, or to that of the local stack. Points that exist already are
overwritten with the same values, so that a push fills the gaps of an earlier write.`,
		Example: `  export ASSAY_INFLUX_URL=http://127.0.0.1:8086 ASSAY_INFLUX_TOKEN=user:password
  assay influx push runs/latest

  # Every run:
  for run in runs/2*; do assay influx push "$run"; done`,
		Args: cli.OneRun,
		RunE: func(c *cobra.Command, args []string) error { return push(c, args[0], quiet) },
	}
	c.Flags().BoolVar(&quiet, "quiet", false, "print no progress")
	return c
}

func push(c *cobra.Command, dir string, quiet bool) error {
	access, err := system.InfluxOrStack(c.Context(), influx.FromEnvironment())
	if err != nil {
		return err
	}
	server, err := access.Server()
	if err != nil {
		return err
	}
	r, err := sealed.Open(dir)
	if err != nil {
		return err
	}
	if err := server.Check(c.Context()); err != nil {
		return err
	}
	return trial.Push(c.Context(), server, r, &trial.Console{W: c.ErrOrStderr(), Quiet: quiet})
}
