// Assay-lab is what a newcomer tries assay on: a local stack of database, reference service and
// InfluxDB, TPC-C tables, and the measurements of the field reports.
package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/lab/stack"
)

func main() { cli.Main(newRoot) }

func newRoot() *cobra.Command {
	root := cli.Root(&cobra.Command{
		Use:   "assay-lab",
		Short: "A local stack to try assay on, and measurements of whole systems",
		Long: `Assay-lab runs what assay is tried on: a database, a reference service and InfluxDB on
loopback, the tables of TPC-C, and the systems of the field reports.

Exit codes: 0 done, 1 transactions were lost or a condition is violated, 2 usage or
operational error, 130 interrupted.`,
		Example: `  assay-lab stack up             # start a local database and service
  assay certify payment          # uses them
  assay-lab stack down`,
	})
	root.AddCommand(newStack(), newTarget(), newTPCC(), newScale(), newReproduce(), newNodeHealth(), newAnswer())
	return root
}

// newAnswer is the hidden command by which assay uses the local stack.
func newAnswer() *cobra.Command {
	return &cobra.Command{
		Use: localstack.AnswerCommand, Short: "Answer a request of assay about the local stack", Hidden: true, Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			var q localstack.Request
			if err := json.NewDecoder(io.LimitReader(c.InOrStdin(), 1<<20)).Decode(&q); err != nil {
				return fmt.Errorf("read the request: %w", err)
			}
			return json.NewEncoder(c.OutOrStdout()).Encode(stack.Answer(c.Context(), q, cli.Logger(c)))
		},
	}
}
