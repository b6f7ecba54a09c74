package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/version"
)

// recording is a run of one worker.
type recording struct {
	script, target string
	rate           float64 // transactions per second
	hold, timeout  time.Duration
	bound          float64 // of p(99), ms
	progress       func(run.Event)
}

func (b *bench) record(ctx context.Context, of recording) (record.Run, error) {
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

// judged is the judged part of a run.
func judged(r record.Run) record.Span {
	w, t0 := r.Plan.Load.Judged[0], r.Facts.T0.Unix()
	return record.Span{From: t0 + int64(w.Start/time.Second), To: t0 + int64(w.End/time.Second)}
}
