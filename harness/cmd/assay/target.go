package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/go-sql-driver/mysql"
	"github.com/spf13/cobra"

	"assay/harness/hint"
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
			if config.DSN == "" {
				return usage("set ASSAY_DB to its DSN, like user:password@tcp(127.0.0.1:3306)/shop", "no database is named")
			}
			log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
			err := target.Run(c.Context(), config, log, func(addr string) {
				fmt.Fprintf(c.ErrOrStderr(), "listening on http://%s\n", addr)
			})
			var away *net.OpError
			var refused *mysql.MySQLError
			if errors.As(err, &away) && away.Op == "dial" || errors.As(err, &refused) {
				return hint.With(err, "see that the database is up and what ASSAY_DB says of user and password")
			}
			return err
		},
	}
	config.Flags(c.Flags())
	c.AddCommand(newTargetHealth())
	return c
}
