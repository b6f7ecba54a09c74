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
		Short: "The reference payment and ingestion service",
		Long: `Target is a payment and ingestion service with real SQL, to try certification
on. Every weakness of our field reports is a flag. ASSAY_DB names its database,
like user:password@tcp(127.0.0.1:3306)/shop.

A payment ends CONFIRMED or DECLINED, both answered 201; where its gateway gives
no answer it is PENDING, answered 202, and a worker asks again. Metrics are on
/metrics, and pushed by OTLP where --otlp or OTEL_EXPORTER_OTLP_ENDPOINT says.`,
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

// newTargetHealth is for container engines: an image without a shell has no
// other program that could ask.
func newTargetHealth() *cobra.Command {
	c := &cobra.Command{
		Use:   "health",
		Short: "Ask a running reference service whether it is well",
		Long: `Health asks the reference service and its database, and ends with 0 when both
answer. It is what the health check of docker-compose.yml calls.`,
		Example: `  assay target health
  assay target health --url http://127.0.0.1:8080`,
		Args: noArguments,
	}
	url := c.Flags().String("url", "http://"+target.DefaultConfig().Listen, "base URL of the service")
	c.RunE = func(c *cobra.Command, _ []string) error { return target.CheckHealth(c.Context(), *url) }
	return c
}
