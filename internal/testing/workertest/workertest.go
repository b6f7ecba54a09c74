package workertest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay.dev/assay/internal/load/k6"
	"assay.dev/assay/internal/load/worker"
	"assay.dev/assay/internal/wire"
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

// Environment variables that change a worker of the test binary.
const (
	EnvVersion   = "ASSAY_TEST_VERSION"    // its version
	EnvClock     = "ASSAY_TEST_CLOCK"      // offset and drift of its clock, like "500ms 2ms" (per second); it is on another machine then
	EnvCPUs      = "ASSAY_TEST_CPUS"       // CPUs that it says it has
	EnvInMemory  = "ASSAY_TEST_IN_MEMORY"  // bytes of reports in memory, before they are written to disk
	EnvLostAfter = "ASSAY_TEST_LOST_AFTER" // how long it goes on without an answer of its coordinator
)

func change(o *worker.Options) (err error) {
	if version := os.Getenv(EnvVersion); version != "" {
		o.Tool.Version = version
	}
	if text := os.Getenv(EnvClock); text != "" {
		first, second, _ := strings.Cut(text, " ")
		offset, err := time.ParseDuration(first)
		if err != nil {
			return err
		}
		drift, err := time.ParseDuration(second)
		if err != nil {
			return err
		}
		begin := time.Now().Round(0)
		o.Skew = func(t time.Time) time.Time {
			return t.Add(offset + time.Duration(t.Sub(begin).Seconds()*float64(drift)))
		}
		o.Machine = func(m wire.Machine) wire.Machine { m.Boot, m.Namespace = "another", "another"; return m }
	}
	if text := os.Getenv(EnvCPUs); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		o.Machine = func(m wire.Machine) wire.Machine { m.CPUs = n; return m }
	}
	if text := os.Getenv(EnvInMemory); text != "" {
		if o.InMemory, err = strconv.Atoi(text); err != nil {
			return err
		}
	}
	if text := os.Getenv(EnvLostAfter); text != "" {
		if o.LostAfter, err = time.ParseDuration(text); err != nil {
			return err
		}
	}
	return nil
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
	if o.Executable, err = os.Executable(); err == nil {
		err = change(&o)
	}
	if err != nil {
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
