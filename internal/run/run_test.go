//go:build live

package run_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/artifact"
	"assay.dev/assay/internal/testing/pitest"
	"assay.dev/assay/internal/testing/workertest"
	"assay.dev/assay/internal/wire"
)

// childCommands are what the test binary runs when re-executed with that argument.
var childCommands = map[string]func() error{stubCommand: runStub}

// performanceInsights is the API of all tests, which run in parallel.
var performanceInsights *pitest.Router

// TestMain runs the test binary as a worker or child command when it is re-executed. It
// fails if goroutines are left after the tests.
func TestMain(m *testing.M) {
	workertest.Main(wire.Tool{})
	if len(os.Args) > 1 && childCommands[os.Args[1]] != nil {
		if err := childCommands[os.Args[1]](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	var err error
	if performanceInsights, err = pitest.StartRouter(); err != nil {
		panic(err)
	}
	before := goroutines()
	code := m.Run()
	if code == 0 {
		if leaked := leakedGoroutines(before, 5*time.Second); leaked != "" {
			fmt.Fprintln(os.Stderr, "leaked goroutines:\n"+leaked)
			code = 1
		}
	}
	os.Exit(code)
}

// getScript makes one GET per transaction.
const getScript = `
import http from 'k6/http';
export default function () { http.get(__ENV.ASSAY_TARGET + '/', { tags: { name: 'get' } }); }
`

// steady is a profile that holds a rate, with a p95 SLO on the transaction.
func steady(rate float64, hold time.Duration) spec.Profile {
	return spec.Profile{
		Name: "steady", Flows: []spec.Flow{{Scenario: "script.js", Timeout: 10 * time.Second, Load: spec.Load{
			Unit: "tps", Target: rate, Even: true, Warmup: time.Second,
			Baseline: spec.Baseline{Rate: rate, For: time.Second}, Hold: hold, Cooldown: time.Second,
		}, SLOs: []spec.SLO{{
			Metric: "transaction_duration", Expression: "p(95)<250", Aggregate: spec.Percentile,
			Quantile: 0.95, Operator: "<", Bound: 250,
		}}}},

		Rules: tolerant(),
	}
}

// tolerant returns rules for shared hosts, where up to 2 % of the slots were observed to be
// delayed. A suspended generator delays 20 % in these tests. Beside other tests no delay of
// the generator makes a run INVALID.
func tolerant() spec.Rules {
	if !alone {
		return withoutGeneratorRules()
	}
	return displaced(0.1)
}

// displaced returns rules by which the generator may delay this share of the slots.
func displaced(share float64) spec.Rules { return spec.Rules{Offered: &share} }

// withoutGeneratorRules returns rules about the generator that a shared machine cannot
// break.
func withoutGeneratorRules() spec.Rules {
	all := 1.0
	return spec.Rules{Offered: &all, GeneratorDrops: &all, GeneratorCPU: &all}
}

// loose returns the profile with an SLO that few samples can decide.
func loose(p spec.Profile) spec.Profile {
	p.Flows[0].SLOs[0].Expression, p.Flows[0].SLOs[0].Quantile, p.Flows[0].SLOs[0].Bound = "p(50)<1000", 0.5, 1000
	return p
}

// think takes an exponentially distributed time, 40 ms on average. If it returned at
// once, the slowest responses would be bursts from the machine's busy moments, and few
// samples so correlated decide no SLO.
func think(http.ResponseWriter, *http.Request) {
	time.Sleep(min(time.Second, time.Duration(rand.ExpFloat64()*float64(40*time.Millisecond))))
}

// abortAfter returns a condition that stops a run in which most requests fail for that
// long.
func abortAfter(d time.Duration) []spec.Abort {
	return []spec.Abort{{Metric: "http_req_failed", Expression: "rate>0.5 for " + d.String(), Limit: 0.5, For: d}}
}

// runs makes run ids differ: the workers' processes are found by them.
var runs atomic.Int64

// options returns the options of a run of a script against a target, in a folder of its
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
	artifact.Keep(t, filepath.Join(dir, "run"))
	return run.Options{
		ID: fmt.Sprintf("test-%d-%d", os.Getpid(), runs.Add(1)), Dir: filepath.Join(dir, "run"),
		Task:   run.Task{File: spec.File{Path: filepath.Join(dir, "thresholds.json")}, Profile: p, Workers: 1, Seed: 1, Scope: "smoke"},
		System: run.System{Target: target}, Executable: executable,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Progress: func(run.Event) {},
	}
}

// certify makes a run, checks that no worker is left, and opens the record.
func certify(t *testing.T, o run.Options) record.Run {
	t.Helper()
	r, err := certifyUntil(t.Context(), t, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// certifyUntil is certify for runs that are stopped or may fail to start.
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

// whole is the span of all seconds in which transactions may have ended.
func whole(r record.Run) record.Span {
	t0 := r.Facts.T0.Unix()
	return record.Span{From: t0, To: t0 + int64((r.Plan.Load.Duration()+r.Plan.Load.Timeout)/time.Second) + 1}
}
