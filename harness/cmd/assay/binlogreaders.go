package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

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
			count, err := strconv.Atoi(args[0])
			if err != nil || count < 1 {
				return fmt.Errorf("%q is no number of readers", args[0])
			}
			dsn := os.Getenv("ASSAY_DB")
			if dsn == "" {
				return usage("set ASSAY_DB to its DSN", "no database is named")
			}
			read, err := binlog.Run(c.Context(), dsn, count, func() { fmt.Fprintln(c.OutOrStdout(), "reading") })
			if err != nil {
				return err
			}
			return json.NewEncoder(c.OutOrStdout()).Encode(read)
		},
	}
}
