package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/version"
)

const (
	openFor   = 8 * time.Second
	openVUs   = 300
	openTries = 3
	openP95Ms = 5.0
	// openStep is the factor between rates, and so the resolution of the result.
	openStep   = 1.1
	openCoarse = 1.5
	openFirst  = 4000.0
	openMax    = 60_000.0
)

// openModel compares the highest rate of two generators on one core against the trivial
// target, with nothing dropped and a 95th percentile under 5 ms: assay's executor, whose
// latency counts from the scheduled arrival, and k6's constant-arrival-rate, whose latency
// counts from the iteration's start, with the default GOGC and a larger one.
func (b *bench) openModel(ctx context.Context) error {
	fmt.Printf("open model, one core, highest rate with nothing dropped and p95 < %g ms:\n", openP95Ms)
	ratios := make([][]float64, len(openGOGC))
	for range max(1, b.rounds*3/5) {
		own, err := highest(ctx, b.holdsOurs)
		if err != nil {
			return err
		}
		fmt.Printf("  assay %.0f/s", own)
		for i, gogc := range openGOGC {
			theirs, err := highest(ctx, func(ctx context.Context, rate float64) (bool, error) { return b.holdsK6(ctx, rate, gogc) })
			if err != nil {
				return err
			}
			fmt.Printf(", constant-arrival-rate %.0f/s (GOGC=%s)", theirs, gogc)
			ratios[i] = append(ratios[i], own/theirs)
		}
		fmt.Println()
	}
	for i, gogc := range openGOGC {
		fmt.Printf("  ratio to constant-arrival-rate, GOGC=%s: %s\n", gogc, spread(ratios[i]))
	}
	return nil
}

// openGOGC lists the values of GOGC for k6.
var openGOGC = []string{"100", "400"}

// highest finds the highest rate that is sustained, in coarse steps and then in fine ones.
// A rate that fails is tried again, since the machine may be shared.
func highest(ctx context.Context, holds func(context.Context, float64) (bool, error)) (best float64, err error) {
	rate := openFirst
	for _, step := range []float64{openCoarse, openStep} {
		for rate <= openMax {
			ok := false
			for range openTries {
				if ok, err = holds(ctx, rate); err != nil {
					return 0, err
				}
				if ok {
					break
				}
			}
			if !ok {
				break
			}
			best, rate = rate, rate*step
		}
		rate = max(best, openFirst/openCoarse) * openStep
	}
	return best, nil
}

// holdsOurs reports whether assay's executor sustains a rate.
func (b *bench) holdsOurs(ctx context.Context, rate float64) (bool, error) {
	r, err := b.record(ctx, rate, openFor)
	if err != nil {
		return false, err
	}
	span := judged(r)
	dropped, _ := r.Timeline.Sum(metric.Transactions, []metric.Label{{Key: "outcome", Value: metric.Dropped}}, span)
	p95, ok := r.Timeline.Hist(metric.TransactionDuration, nil, span).Quantile(0.95)
	return ok && dropped == 0 && p95 < openP95Ms, nil
}

func judged(r record.Run) record.Span {
	w, t0 := r.Plan.Load.Judged[0], r.Facts.T0.Unix()
	return record.Span{From: t0 + int64(w.Start/time.Second), To: t0 + int64(w.End/time.Second)}
}

// openTimeout is that of a transaction.
const openTimeout = 200 * time.Millisecond

// record makes a complete run at a rate.
func (b *bench) record(ctx context.Context, rate float64, hold time.Duration) (record.Run, error) {
	return b.recordOf(ctx, recording{
		script: "script.js", target: b.target.url, rate: rate, hold: hold, timeout: openTimeout, bound: openP95Ms, progress: func(run.Event) {},
	})
}

// recording is a run of one worker.
type recording struct {
	script, target string
	rate           float64 // transactions per second
	hold, timeout  time.Duration
	bound          float64 // of p(99), ms
	progress       func(run.Event)
}

func (b *bench) recordOf(ctx context.Context, of recording) (record.Run, error) {
	dir, err := os.MkdirTemp(b.dir, "run-")
	if err != nil {
		return record.Run{}, err
	}
	defer os.RemoveAll(dir)
	profile := spec.Profile{
		Name: "bench", Flows: []spec.Flow{{Scenario: of.script, Timeout: of.timeout, Load: spec.Load{Unit: "tps", Target: of.rate, Ramp: 2 * time.Second, Baseline: spec.Baseline{Rate: of.rate / 4, For: time.Second}, Hold: of.hold}, SLOs: []spec.SLO{{
			Metric: metric.TransactionDuration, Expression: fmt.Sprintf("p(99)<%g", of.bound), Aggregate: spec.Percentile,
			Quantile: 0.99, Operator: "<", Bound: of.bound,
		}}}},
	}
	o := run.Options{
		ID: "bench", Dir: filepath.Join(dir, "run"), File: spec.File{Path: b.path("thresholds.json")}, Profile: profile,
		Workers: 1, Seed: 1, Target: of.target, Scope: spec.ScopeSmoke, Executable: b.path("generator"),
		Tool: version.Tool(), // of the same build as the binary: else it may not join
		Log:  slog.Default(), Progress: of.progress,
	}
	if err := run.Run(ctx, o); err != nil {
		return record.Run{}, err
	}
	return record.Open(o.Dir)
}

// holdsK6 reports whether k6's executor sustains a rate.
func (b *bench) holdsK6(ctx context.Context, rate float64, gogc string) (bool, error) {
	config := fmt.Sprintf(`{"scenarios":{"s":{"executor":"constant-arrival-rate","rate":%d,"timeUnit":"1s","duration":"%s","preAllocatedVUs":%d,"maxVUs":%d}}}`,
		int(rate), openFor, openVUs, openVUs)
	if err := os.WriteFile(b.path("k6.json"), []byte(config), 0o600); err != nil {
		return false, err
	}
	cmd := exec.CommandContext(ctx, b.path("generator"), "k6", "run", "--quiet", "--no-color", "--address", "",
		"--config", b.path("k6.json"), "--summary-mode", "legacy", "--summary-export", b.path("summary.json"),
		"-e", "ASSAY_TARGET="+b.target.url, b.path("script.js"))
	cmd.Env = append(os.Environ(), "GOGC="+gogc)
	if out, err := cmd.CombinedOutput(); err != nil {
		return false, fmt.Errorf("%w: %s", err, out)
	}
	data, err := os.ReadFile(b.path("summary.json"))
	if err != nil {
		return false, err
	}
	var summary struct {
		Metrics struct {
			Dropped  struct{ Count float64 } `json:"dropped_iterations"`
			Duration struct {
				P95 float64 `json:"p(95)"`
			} `json:"iteration_duration"`
		} `json:"metrics"`
	}
	if err := json.Unmarshal(data, &summary); err != nil {
		return false, err
	}
	return summary.Metrics.Dropped.Count == 0 && summary.Metrics.Duration.P95 < openP95Ms, nil
}

// memory compares a worker's memory after 60 s with that after 10 s.
func (b *bench) memory(ctx context.Context) error {
	const rate = 2000
	r, err := b.record(ctx, rate, 62*time.Second)
	if err != nil {
		return err
	}
	values, ok := r.Timeline.Gauge(metric.WorkerMemory, nil, metric.WorkerSource(0), record.Span{From: r.Facts.T0.Unix(), To: r.Facts.T0.Unix() + 65})
	if !ok[10] || !ok[60] {
		return fmt.Errorf("the worker did not report its memory")
	}
	fmt.Printf("memory of a worker at %d/s: %.0f MiB after 10 s, %.0f MiB after 60 s, ratio %.3f\n",
		rate, values[10]/(1<<20), values[60]/(1<<20), values[60]/values[10])
	return nil
}
