package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"assay/harness/lab/target"
)

func newTarget() *cobra.Command {
	config := target.DefaultConfig()
	c := &cobra.Command{
		Use:   "target",
		Short: "Run the reference payment and ingestion service",
		Long: `Target is a payment and ingestion service with real SQL, to try Assay on. Every
weakness of our field reports is a flag. ASSAY_DB names its database, like
user:password@tcp(127.0.0.1:3306)/shop.

A payment ends CONFIRMED or DECLINED, both answered 201. If the gateway does not
answer, it is PENDING, answered 202, and a background worker asks again. Metrics are
on /metrics, and pushed by OTLP to --otlp or OTEL_EXPORTER_OTLP_ENDPOINT.`,
		Example: `  export ASSAY_DB='shop:secret@tcp(127.0.0.1:3306)/shop'
  assay target
  assay target --commits transaction --pool-max-open 10
  assay target --gateway-latency card=20 --gateway-timeouts 0
  assay target --listen 127.0.0.1:8080 --ingest channel --drain=false`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			config.DSN = os.Getenv("ASSAY_DB")
			log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
			return target.Run(c.Context(), config, log, func(addr string) {
				fmt.Fprintf(c.ErrOrStderr(), "listening on http://%s\n", addr)
			})
		},
	}
	config.Flags(c.Flags())
	c.AddCommand(newTargetHealth())
	return c
}

// newTargetHealth is for container engines: an image without a shell has no other
// program for a health check.
func newTargetHealth() *cobra.Command {
	c := &cobra.Command{
		Use:   "health",
		Short: "Check the health of a running reference service",
		Long: `Health exits with 0 if the reference service and its database answer, else with 2.
The health check of docker-compose.yml calls it.`,
		Example: `  assay target health
  assay target health --url http://127.0.0.1:8080`,
		Args: noArguments,
	}
	url := c.Flags().String("url", "http://"+target.DefaultConfig().Listen, "base URL of the service")
	c.RunE = func(c *cobra.Command, _ []string) error { return target.CheckHealth(c.Context(), *url) }
	return c
}
