package main

import (
	"os"

	"github.com/spf13/cobra"

	"assay/harness/lab/experiment/binlog"
	"assay/harness/lab/experiment/change"
)

// newBinlogReaders is what an experiment starts as a process of its own.
func newBinlogReaders() *cobra.Command {
	return &cobra.Command{
		Use: change.ReadersCommand + " COUNT", Short: "Read the binlog of ASSAY_DB until ended, for an experiment", Hidden: true,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return binlog.Main(c.Context(), os.Getenv("ASSAY_DB"), args[0], c.OutOrStdout())
		},
	}
}
