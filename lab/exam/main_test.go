//go:build long

package exam

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/testing/workertest"
	"assay.dev/assay/internal/wire"
	"assay.dev/assay/lab/exam/slowdisk"
	"assay.dev/assay/lab/target"
)

var update = flag.Bool("update", false, "keep the records of the cases in "+recordsDir)

// Programs that the test binary is when it is re-executed, by its first argument.
const (
	asService = "target"
	asProgram = "slow-disk" // SOCKET PROGRAM ARGS...: a program on a slow disk
	asPinned  = "pinned"    // one|rest PROGRAM ARGS...: a program on the first CPU, or on all others
	asBusy    = "busy"      // NICE: a process that keeps the first CPU busy until its parent ends
)

// Arguments of asPinned.
const (
	onFirst = "one"
	onRest  = "rest"
)

func TestMain(m *testing.M) {
	workertest.Main(wire.Tool{})
	if len(os.Args) > 1 {
		if program := map[string]func([]string) error{
			asService: serve,
			asProgram: func(args []string) error { return slowdisk.Exec(args[0], args[1], args[2:]...) },
			asPinned:  pinned,
			asBusy:    busy,
		}[os.Args[1]]; program != nil {
			if err := program(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	flag.Parse()
	os.Exit(m.Run())
}

// serve is `assay-lab target`.
func serve(args []string) error {
	config := target.DefaultConfig()
	flags := pflag.NewFlagSet(asService, pflag.ContinueOnError)
	config.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	config.DSN = os.Getenv("ASSAY_DB")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return target.Run(ctx, config, slog.New(slog.DiscardHandler), func(string) {})
}

func pinned(args []string) error {
	runtime.LockOSThread() // the affinity is that of a thread, which also has to call exec
	one, rest, err := split()
	if err != nil {
		return err
	}
	set := rest
	if args[0] == onFirst {
		set = one
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return err
	}
	return unix.Exec(args[1], args[1:], os.Environ())
}

func busy(args []string) error {
	runtime.LockOSThread() // affinity and priority are those of a thread, which has to be the busy one
	nice, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	one, _, err := split()
	if err != nil {
		return err
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, nice); err != nil {
		return fmt.Errorf("set priority: %w", err)
	}
	for i := 0; ; i++ { // until the kernel kills it, when its parent ends
		_ = i * i
	}
}
