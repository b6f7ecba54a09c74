package run_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"assay/harness/load/k6"
	"assay/harness/observe/record"
	"assay/harness/run"
	"assay/harness/servers/mysqld/mysqldtest"
	"assay/harness/spec"
)

// become is what the test binary does when it is re-executed with an argument.
var become = map[string]func() error{serveArg: serveReference}

// TestMain makes the test binary a worker, or what become says, when it is
// re-executed. After the tests nothing of a run may be left.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "k6" {
		k6.Main(os.Args[2:])
	}
	if len(os.Args) > 1 && become[os.Args[1]] != nil {
		if err := become[os.Args[1]](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// Runs wait for most of their time: four at a time, on two cores.
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	useAWS()
	before := goroutines()
	code := mysqldtest.Main(m)
	if code == 0 {
		if left := remaining(before, 5*time.Second); left != "" {
			fmt.Fprintln(os.Stderr, "goroutines are left:\n"+left)
			code = 1
		}
	}
	os.Exit(code)
}

// getScript is one GET a transaction.
const getScript = `
import http from 'k6/http';
export default function () { http.get(__ENV.ASSAY_TARGET + '/', { tags: { name: 'get' } }); }
`

// steady is a profile that holds a rate, with a p95 SLO on the transaction.
func steady(rate float64, hold time.Duration) spec.Profile {
	return spec.Profile{
		Name: "steady", Scenario: "script.js", Timeout: 10 * time.Second,
		Load: spec.Load{
			Unit: "tps", Target: rate, Even: true, Warmup: time.Second,
			Baseline: spec.Baseline{Rate: rate, For: time.Second}, Hold: hold, Cooldown: time.Second,
		},
		SLOs: []spec.SLO{{
			Metric: "transaction_duration", Expression: "p(95)<250", Aggregate: spec.Percentile,
			Quantile: 0.95, Operator: "<", Bound: 250,
		}},
		Rules: tolerant(),
	}
}

// tolerant are rules for hosts that run other things beside the tests: there up
// to 2 % of the slots were seen delayed. A stopped generator delays 20 % here.
func tolerant() spec.Rules {
	share := 0.1
	return spec.Rules{Offered: &share}
}

// loose is the profile with an SLO that few samples can decide.
func loose(p spec.Profile) spec.Profile {
	p.SLOs[0].Expression, p.SLOs[0].Quantile, p.SLOs[0].Bound = "p(50)<1000", 0.5, 1000
	return p
}

// think takes 40 ms on average, by chance. Of answers given at once the slowest
// would be those of the machine's busy moments: with latencies in such bursts few
// samples decide nothing.
func think(http.ResponseWriter, *http.Request) {
	time.Sleep(min(time.Second, time.Duration(rand.ExpFloat64()*float64(40*time.Millisecond))))
}

// abortAfter stops a run in which most requests fail for so long.
func abortAfter(d time.Duration) []spec.Abort {
	return []spec.Abort{{Metric: "http_req_failed", Expression: "rate>0.5 for " + d.String(), Share: 0.5, For: d}}
}

// runs makes run ids differ: the workers' processes are found by them.
var runs atomic.Int64

// options are those of a run of a script against a target, in a folder of its
// own.
func options(t *testing.T, p spec.Profile, script, target string) run.Options {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "script.js"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return run.Options{
		ID: fmt.Sprintf("test-%d-%d", os.Getpid(), runs.Add(1)), Dir: filepath.Join(dir, "run"), File: spec.File{Path: filepath.Join(dir, "thresholds.json")},
		Profile: p, Workers: 1, Seed: 1, Target: target, Scope: "smoke", Executable: executable,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Progress: func(run.Event) {},
	}
}

// certify runs, sees that no worker is left, and opens the record.
func certify(t *testing.T, o run.Options) record.Run {
	t.Helper()
	r, err := certifyUntil(t.Context(), t, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// certifyUntil is certify for runs that may be stopped, or never start.
func certifyUntil(ctx context.Context, t *testing.T, o run.Options) (record.Run, error) {
	t.Helper()
	err := run.Run(ctx, o)
	if left := workers(t, o.ID); len(left) > 0 {
		t.Errorf("workers are left: %v", left)
	}
	if err != nil {
		return record.Run{}, err
	}
	return open(t, o), nil
}

func open(t *testing.T, o run.Options) record.Run {
	t.Helper()
	r, err := record.Open(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// judged is the span of the first judged window.
func judged(r record.Run) record.Span {
	w := r.Plan.Load.Judged[0]
	t0 := r.Facts.T0.Unix()
	return record.Span{From: t0 + int64(w.Start/time.Second), To: t0 + int64(w.End/time.Second)}
}

// whole is the span of all seconds in which something can have ended.
func whole(r record.Run) record.Span {
	t0 := r.Facts.T0.Unix()
	return record.Span{From: t0, To: t0 + int64((r.Plan.Load.Duration()+r.Plan.Load.Timeout)/time.Second) + 1}
}
