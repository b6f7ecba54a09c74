// Package workertest makes a test binary a worker, when a run of the test starts it as
// one.
//
// Input: the test binary's arguments. Output: k6, or a worker.
package workertest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"assay/harness/load/k6"
	"assay/harness/load/worker"
	"assay/harness/wire"
)

// Main runs k6 or a worker, and ends the process, if the test binary was started as
// `assay k6` or `assay worker`. A TestMain calls it first.
func Main(tool wire.Tool) {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case "k6":
		k6.Main(os.Args[2:])
	case "worker":
		os.Exit(run(tool, os.Args[2:]))
	}
}

func run(tool wire.Tool, args []string) (code int) {
	fs := flag.NewFlagSet("worker", flag.ExitOnError)
	o := worker.Options{Tool: tool, Token: os.Getenv("ASSAY_JOIN_TOKEN"), Output: os.Stderr}
	fs.StringVar(&o.URL, "join", "", "")
	fs.StringVar(&o.Dir, "dir", "", "")
	fs.DurationVar(&o.Wait, "wait", time.Minute, "")
	_ = fs.Parse(args) // exits
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	var err error
	if o.Executable, err = os.Executable(); err != nil {
		fmt.Fprintln(os.Stderr, "assay:", err)
		return 2
	}
	status, err := worker.Run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "assay:", err)
		return 2
	}
	code, err = strconv.Atoi(status)
	if err != nil {
		fmt.Fprintln(os.Stderr, "assay: k6 ended:", status)
		return 2
	}
	return code
}
