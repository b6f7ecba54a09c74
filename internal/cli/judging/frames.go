// SPDX-License-Identifier: Apache-2.0

package judging

import (
	"github.com/spf13/cobra"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/observe/record"
)

// Frames is the command frames.
func Frames() *cobra.Command {
	return &cobra.Command{
		Annotations: cli.Reads,
		Use:         "frames RUN",
		Short:       "Print the frames of a run as JSON lines",
		Long: `Frames prints everything that was measured: one line per metric, source and
second. Counters and gauges have a value; histograms a count, a sum and
percentiles, in the metric's unit. What other senders sent (otlp/...) may
cover several seconds, and have percentiles between lower and upper.`,
		Example: `  assay frames runs/latest | jq -s 'map(select(.metric == "db_session")) | length'
  assay frames runs/latest | jq -c 'select(.metric == "transaction_duration") | [.second, .p95]'`,
		Args: cli.OneRun,
		RunE: func(c *cobra.Command, args []string) error { return record.WriteLines(c.OutOrStdout(), args[0]) },
	}
}
