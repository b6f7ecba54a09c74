package k6

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	k6cmd "go.k6.io/k6/v2/cmd"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/output"
	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/journey"
	"assay.dev/assay/internal/load/mark"
	"assay.dev/assay/internal/load/sql"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/wire"
)

// worker is this process as a member of a fleet; without a coordinator it is plain k6.
type worker struct {
	wire *wire.Link // to the coordinator; nil: none
	agg  *aggregate // made with the output, before the executor starts
	// marks are of the requests, once the output has read how they are marked.
	marks *mark.Marks
}

// Main runs k6 with args and ends the process with k6's exit code.
func Main(args []string) {
	w := &worker{wire: wire.FromEnvironment(), marks: &mark.Marks{}}
	var vus *arrivals.VUs
	if w.wire != nil {
		cleanEnvironment()
		mask.Environment() // what the script is given
		vus = arrivals.Register(w, w.marks)
		w.marks.Register()
	} else {
		vus = arrivals.Register(nil, nil)
	}
	// Scripts use the extensions of this binary: k6 would download another binary for
	// k6/x/sql, whose version it cannot determine.
	_ = os.Setenv("K6_AUTO_EXTENSION_RESOLUTION", "false")
	output.RegisterExtension(OutputName, w.newOutput)
	sql.Register(vus.Sends)
	journey.Register(vus)
	if w.wire != nil {
		journey.Watch(vus, "k6/http", sql.ImportPath)
	}
	end := func(err error) {
		// As k6 logs its errors, of which the coordinator reads the last.
		fmt.Fprintf(os.Stderr, "time=%q level=error msg=%q\n", time.Now().Format(time.RFC3339), err.Error())
		os.Exit(int(exitcodes.GoPanic))
	}
	crash.Watch(end)
	// By SIGQUIT Go would end the process at once, with its stacks.
	quits := make(chan os.Signal, 1)
	signal.Notify(quits, syscall.SIGQUIT)
	crash.Go(func() {
		for range quits {
			_ = syscall.Kill(os.Getpid(), syscall.SIGINT) // k6 ends in order
		}
	})
	if len(args) > 0 && (args[0] == "inspect" || args[0] == "archive") {
		// What a script imports and opens may be of any kind and size, and k6 reads it whole.
		_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: wire.MaxInit, Max: wire.MaxInit}) // fails where a lower limit is set
	}
	// k6 reads its arguments and environment from the process.
	os.Args = append([]string{"k6"}, args...)
	if err := crash.Call(func() error {
		k6cmd.Execute()
		return nil
	}); err != nil {
		end(err)
	}
}

// cleanEnvironment removes variables that would change the run, and turns k6's usage
// report off.
func cleanEnvironment() {
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "K6_") {
			_ = os.Unsetenv(name) // fails for malformed names only
		}
	}
	_ = os.Setenv("K6_NO_USAGE_REPORT", "true")
}

// Ready registers the worker, whose VUs are initialised, with the coordinator.
func (w *worker) Ready(ctx context.Context, registered map[string]string) error {
	runtime.GC() // collect the garbage of initialising the VUs
	return w.wire.Ready(ctx, wire.Ready{Metrics: registered})
}

// Start waits for the common start, and sets the aggregate's t0.
func (w *worker) Start(ctx context.Context, ownSetup []byte) (time.Time, []byte, error) {
	var start *wire.StartResponse
	for start == nil {
		var err error
		if start, err = w.wire.Start(ctx, json.RawMessage(ownSetup)); err != nil {
			return time.Time{}, nil, err
		}
	}
	local := start.Local
	if local.IsZero() {
		local = start.T0
	}
	now := time.Now()
	t0 := now.Add(local.Sub(now.Round(0))) // the common instant, with this process's monotonic reading
	if w.agg != nil {
		w.agg.start(t0, start.T0)
	}
	return t0, start.Setup, nil
}
