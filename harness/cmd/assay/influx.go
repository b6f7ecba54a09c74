package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"assay/harness/judge/verdict"
	"assay/harness/lab/stack"
	"assay/harness/observe/influx"
	"assay/harness/observe/record"
)

// influxAccess is where points go, and the token for it, as the environment
// names them; an empty address is nowhere.
func influxAccess() (address, token string) {
	return os.Getenv("ASSAY_INFLUX_URL"), os.Getenv("ASSAY_INFLUX_TOKEN")
}

// influxServer is nil where no address is named.
func influxServer(address, token string) (*influx.Server, error) {
	if address == "" {
		return nil, nil //nolint:nilnil // no view is a choice, not an error
	}
	return influx.NewServer(address, token)
}

func newInflux() *cobra.Command {
	c := group(&cobra.Command{
		Use:   "influx",
		Short: "Runs in InfluxDB, for Grafana",
		Long: `Influx writes runs to InfluxDB, where the dashboards find them. Certify does
that while a run goes on, where ASSAY_INFLUX_URL names a server, like
http://127.0.0.1:8086 or http://127.0.0.1:8086?db=assay (assay is the default),
or where the local stack has one (assay stack up, with influxd installed).
ASSAY_INFLUX_TOKEN is user:password for InfluxDB 1.x, or the token of 2 and 3.`,
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
		Long: `Push writes every second of a sealed record, and its verdict, to the server that
ASSAY_INFLUX_URL names, or else to that of the local stack. What is there already
is written over with the same, so that it fills what a view lacks.`,
		Example: `  export ASSAY_INFLUX_URL=http://127.0.0.1:8086 ASSAY_INFLUX_TOKEN=user:password
  assay influx push runs/latest

  # Every run there is:
  for run in runs/2*; do assay influx push "$run"; done`,
		Args: oneRun,
		RunE: func(c *cobra.Command, args []string) error { return push(c, args[0], quiet) },
	}
	c.Flags().BoolVar(&quiet, "quiet", false, "no progress")
	return c
}

func push(c *cobra.Command, dir string, quiet bool) error {
	address, token := influxAccess()
	if address == "" {
		if state, _, err := stack.Status(stack.DefaultDir); err == nil && state != nil {
			address, token = state.InfluxURL(), state.InfluxToken()
		}
	}
	if address == "" {
		return &usageError{
			"no InfluxDB is named, and no local stack has one",
			"set ASSAY_INFLUX_URL to its address, like http://127.0.0.1:8086, and ASSAY_INFLUX_TOKEN to user:password; or: assay stack up",
		}
	}
	server, err := influxServer(address, token)
	if err != nil {
		return err
	}
	r, err := record.Open(dir)
	if err != nil {
		return err
	}
	if err := server.Check(c.Context()); err != nil {
		return err
	}
	told := time.Now()
	tell := func(done, of int) {
		if now := time.Now(); !quiet && (done == of || now.Sub(told) >= time.Second) {
			told = now
			fmt.Fprintf(c.ErrOrStderr(), "influx: %d of %d seconds of %s written to %s\n", done, of, r.Plan.Run, server)
		}
	}
	about := influx.NewAbout(r.Plan, r.Environment, r.Facts.T0)
	return influx.Push(c.Context(), server, about, r.Timeline, verdictEvent(about, r, verdict.Judge(r)), tell)
}

func verdictEvent(a influx.About, r record.Run, v verdict.Verdict) []influx.Point {
	return influx.Verdict(a, r.Facts.Ended, v.Outcome.String(), v.Claim)
}

// showVerdict writes the verdict's event. It outlasts an interrupt for a moment:
// also such a run has a verdict.
func showVerdict(ctx context.Context, server *influx.Server, j judged) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	defer server.Close()
	about := influx.NewAbout(j.record.Plan, j.record.Environment, j.record.Facts.T0)
	return influx.WriteEvents(ctx, server, verdictEvent(about, j.record, j.verdict))
}
