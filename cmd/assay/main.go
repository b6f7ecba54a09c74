package main

import (
	"log"
	"os"
	"path/filepath"

	"assay.dev/assay/internal/cli"

	"assay.dev/assay/internal/judge/certificate/signature"
	"assay.dev/assay/internal/load/k6"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/wire"
)

func main() {
	mask.Environment()
	mask.Arguments(os.Args[1:])
	signature.HideFromChildren() // before anything is started
	stderr := mask.Writer{To: &cli.Unblocked{To: os.Stderr}}
	log.SetOutput(stderr) // of libraries
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
