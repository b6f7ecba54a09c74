package main

import (
	"os"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/series/experiment/binlog"
	"assay.dev/assay/internal/series/experiment/change"
)

// newBinlogReaders is the hidden command that an experiment runs as a child process.
func newBinlogReaders() *cobra.Command {
	return &cobra.Command{
		Use: change.ReadersCommand + " COUNT", Short: "Read the binlog of ASSAY_DB until stopped, for an experiment", Hidden: true,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return binlog.Main(c.Context(), os.Getenv("ASSAY_DB"), args[0], c.OutOrStdout())
		},
	}
}
