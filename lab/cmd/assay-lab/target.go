package main

import (
	"fmt"
	"log/slog"
	"os"

	"assay.dev/assay/internal/cli"

	"github.com/spf13/cobra"

	"assay.dev/assay/lab/target"
)

func newTarget() *cobra.Command {
	config := target.DefaultConfig()
	c := &cobra.Command{
		Use:   "target",
		Short: "Run the reference payment and ingestion service",
		Long: `Target is a payment and ingestion service with real SQL, to try Assay on. Its flags
set the weaknesses that such services often have, in commits, connection pool,
ingestion and shutdown. ASSAY_DB is the DSN of its database, like
user:password@tcp(127.0.0.1:3306)/shop, and ASSAY_KAFKA has the credentials for Kafka, like
kafka://user:password@127.0.0.1:9092?tls=true.

A payment ends CONFIRMED or DECLINED, both answered with 201. If the gateway does not
respond, it is PENDING, answered with 202, and a background worker retries it. Metrics
are exposed at /metrics, and pushed by OTLP to --otlp or OTEL_EXPORTER_OTLP_ENDPOINT.`,
		Example: `  export ASSAY_DB='shop:secret@tcp(127.0.0.1:3306)/shop'
  assay-lab target
  assay-lab target --commits transaction --pool-max-open 10
  assay-lab target --gateway-latency card=20 --gateway-timeouts 0
  assay-lab target --capacity 8 --work 20ms --capacity-max 16 --boot 30s
  assay-lab target --listen 127.0.0.1:8080 --ingest channel --drain=false
  assay-lab target --ingest kafka --kafka-brokers 127.0.0.1:9092`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			config.DSN, config.Kafka.URL = os.Getenv("ASSAY_DB"), os.Getenv("ASSAY_KAFKA")
			var log slog.Handler = slog.NewTextHandler(c.ErrOrStderr(), nil)
			if config.LogRequests { // for programs, which find a transaction by its trace id
				log = slog.NewJSONHandler(c.ErrOrStderr(), nil)
			}
			return target.Run(c.Context(), config, slog.New(log), func(addr string) {
				fmt.Fprintf(c.ErrOrStderr(), "listening on http://%s\n", addr)
			})
		},
	}
	config.Flags(c.Flags())
	c.AddCommand(newTargetHealth(), newTargetBroker())
	return c
}

// newTargetHealth is for container engines: the image has no shell or other program
// for a health check.
func newTargetHealth() *cobra.Command {
	c := &cobra.Command{
		Use:   "health",
		Short: "Check the health of a running reference service",
		Long: `Health exits with 0 if the reference service and its database respond, otherwise with 2.
The health check of docker-compose.yml calls it.`,
		Example: `  assay-lab target health
  assay-lab target health --url http://127.0.0.1:8080`,
		Args: cli.NoArguments,
	}
	url := c.Flags().String("url", "http://"+target.DefaultConfig().Listen, "base URL of the service")
	c.RunE = func(c *cobra.Command, _ []string) error { return target.CheckHealth(c.Context(), *url) }
	return c
}

// newTargetBroker is for trying --ingest kafka where no Kafka is at hand.
func newTargetBroker() *cobra.Command {
	c := &cobra.Command{
		Use:   "broker",
		Short: "Run a Kafka broker in memory, to try --ingest kafka with",
		Long: `Broker speaks Kafka's protocol on loopback until it is interrupted. It holds all messages
in memory, in one process without replicas: it loses them when it ends, and says nothing
about the speed of a real broker.`,
		Example: `  assay-lab target broker &
  assay-lab stack up --target-args '--ingest kafka'
  assay certify ingestion-kafka`,
		Args: cli.NoArguments,
	}
	port := c.Flags().Int("port", 9092, "port to listen on")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return target.RunBroker(c.Context(), *port, func(addr string) {
			fmt.Fprintf(c.ErrOrStderr(), "listening on %s\n", addr)
		})
	}
	return c
}
