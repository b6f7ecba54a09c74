package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/cli/judging"
	"assay.dev/assay/internal/load/k6"
	"assay.dev/assay/internal/system"
	"assay.dev/assay/internal/wire"
)

func main() {
	stderr := cli.Begin()
	// Invoked under the name k6, or as `assay k6`, this is k6, with k6's arguments.
	if filepath.Base(os.Args[0]) == "k6" {
		if isRunner(os.Args[1:]) {
			os.Exit(cli.Execute(cli.Interruptible(stderr), newRoot(), []string{"worker", "--join", os.Getenv(wire.EnvJoin), "--dir", os.TempDir(), "--status", statusAddress(os.Args[1:])}, os.Stdout, stderr))
		}
		k6.Main(os.Args[1:])
	}
	if len(os.Args) > 1 && os.Args[1] == "k6" {
		k6.Main(os.Args[2:])
	}
	os.Exit(cli.Execute(cli.Interruptible(stderr), newRoot(), os.Args[1:], os.Stdout, stderr))
}

func newRoot() *cobra.Command {
	root := cli.Root(&cobra.Command{
		Use:   "assay",
		Short: "Certify that a system sustains its target rate within its SLOs",
		Long: `Assay certifies, before a high-velocity event, that a system sustains its
target rate within its SLOs, and says why when it does not.

Results go to stdout, progress and errors to stderr. Exit codes: 0 PASS,
1 FAIL, 2 usage or operational error, 3 INVALID, 4 INCONCLUSIVE, 130
interrupted.

Two programs stand beside it: assay-lab has a local stack to try it on, and
assay-verify only judges and verifies.`,
		Example: `  assay-lab stack up              # start a local database and service
  assay certify payment           # make load, record and judge it: PASS, or why not
  assay judge runs/latest         # the same verdict again, from the record
  assay verify runs/latest        # is the certificate unchanged?`,
	})
	root.AddCommand(
		newCertify(), newWorker(), newKubernetes(), newKeygen(), newSearch(), newExperiment(), newDoctor(), newInit(), newModel(),
		newInflux(), newStub(), newK6(), newBinlogReaders(),
	)
	root.AddCommand(judging.Commands(system.DescribeDatabase)...)
	root.AddCommand(moved()...)
	return root
}

// newK6 is only for the help: main calls k6 before cobra sees the arguments.
func newK6() *cobra.Command {
	return &cobra.Command{
		Use: "k6 ...", Short: "The embedded k6, with k6/x/sql",
		Long: `K6 runs the k6 that is embedded in this binary, with all its commands, flags and exit
codes. Invoked under the name k6, for example through a link, assay is k6 too.`,
		Example: `  assay k6 inspect scenarios/payment.js
  assay k6 run -e ASSAY_TARGET=http://127.0.0.1:18080 --iterations 1 scenarios/payment.js`,
		DisableFlagParsing: true,
		Run:                func(_ *cobra.Command, args []string) { k6.Main(args) },
	}
}
