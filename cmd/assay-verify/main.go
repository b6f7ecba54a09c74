// SPDX-License-Identifier: Apache-2.0

// Assay-verify judges and verifies recorded runs anywhere: it links no k6, Kubernetes, cloud
// or SQL driver. The commands are those of assay, from the same package.
package main

import (
	"github.com/spf13/cobra"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/cli/judging"
)

func main() { cli.Main(newRoot) }

func newRoot() *cobra.Command {
	root := cli.Root(&cobra.Command{
		Use:   "assay-verify",
		Short: "Judge and verify recorded runs and their certificates",
		Long: `Assay-verify has the commands of assay that read a recorded run or a certificate, for
gates and auditors: it makes no load and reaches no server.

Exit codes: 0 PASS, 1 FAIL, 2 usage or operational error, 3 INVALID,
4 INCONCLUSIVE, 130 interrupted.`,
		Example: `  assay-verify verify runs/latest --key keys/assay.pub
  assay-verify judge runs/latest`,
	})
	root.AddCommand(judging.Commands(nil)...)
	return root
}
