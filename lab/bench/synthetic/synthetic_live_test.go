//go:build live

package synthetic

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/workertest"
	"assay.dev/assay/internal/wire"
	"assay.dev/assay/internal/wire/identity"
	"assay.dev/assay/lab/bench/longrun"
)

// TestMain runs the test binary as k6, which reads the script.
func TestMain(m *testing.M) {
	workertest.Main(wire.Tool{})
	os.Exit(m.Run())
}

// coordinate makes a run with a synthetic fleet, and returns its record and what was
// acknowledged.
func coordinate(t *testing.T, shape longrun.Shape, eager bool, during func(*Fleet)) (record.Run, Counts, string) {
	t.Helper()
	target := httptest.NewServer(http.NotFoundHandler())
	defer target.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "script.js"), []byte("export default function () {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := shape.Profile()
	p.Flows[0].Scenario = "script.js"
	p.Flows[0].Load = spec.Load{Unit: p.Flows[0].Load.Unit, Target: p.Flows[0].Load.Target, Warmup: time.Second, Hold: shape.Hold}
	load, err := plan.New(p, shape.Workers, 1)
	if err != nil {
		t.Fatal(err)
	}
	var workers *Fleet
	var measuring sync.WaitGroup
	o := run.Options{
		ID: "test", Dir: filepath.Join(dir, "run"), Join: run.Join{Remote: true}, Engine: fleet.Others{},
		Task: run.Task{
			File: spec.File{Path: filepath.Join(dir, "thresholds.json")}, Profile: p, Workers: shape.Workers, Seed: 1, Scope: spec.ScopeSmoke,
		},
		System:     run.System{Target: target.URL},
		Executable: executable, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Progress: func(e run.Event) {
			token, url, found := strings.Cut(e.Text, " assay worker --join ")
			if !found {
				return
			}
			address, err := identity.ParseAddress(url)
			if err != nil {
				t.Error(err)
			}
			workers = Start(t.Context(), Options{
				Address: address, Token: strings.TrimPrefix(token, "ASSAY_JOIN_TOKEN="), Shape: shape, Load: load, Eager: eager,
			})
			measuring.Go(func() { during(workers) })
		},
	}
	if err := run.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	measuring.Wait()
	if err := workers.Wait(); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return r, workers.Take(), o.Dir
}

// Every frame of a synthetic fleet is in the record, once, with the totals that its
// workers report, and the run is valid as far as its frames are concerned.
func TestEveryFrameIsInTheRecord(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.15)
	shape := longrun.Shape{Workers: 20, Hold: 4 * time.Second, Rate: 400, Small: true, Remote: true}
	r, counts, dir := coordinate(t, shape, false, func(*Fleet) {})
	seconds := int64(1 + shape.Hold/time.Second)
	checkRecord(t, r, counts, dir, seconds)
	if n := int64(shape.Workers) * (seconds + 1); counts.Messages != n {
		t.Errorf("%d messages, want %d: one a second and the closing frame", counts.Messages, n)
	}
	scheduled, _ := r.Timeline.Sum(metric.TransactionsScheduled, nil, record.All)
	if int64(scheduled) != r.Plan.Load.Arrivals() || counts.Entries != r.Plan.Load.Arrivals() {
		t.Errorf("%g transactions were scheduled and %d acknowledged, the plan has %d", scheduled, counts.Entries, r.Plan.Load.Arrivals())
	}
	for _, rule := range verdict.Judge(r).Rules {
		if (rule.ID == "frames" || rule.ID == "accounted") && rule.Outcome != verdict.Pass {
			t.Errorf("rule %s is %s: %s", rule.ID, rule.Outcome, rule.Detail)
		}
	}
}

// The same holds for workers that send as fast as they are acknowledged, until they are
// stopped.
func TestEveryFrameOfAnEagerFleetIsInTheRecord(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	shape := longrun.Shape{Workers: 20, Hold: 4 * time.Second, Rate: 400, Small: true, Remote: true}
	r, counts, dir := coordinate(t, shape, true, func(f *Fleet) {
		if _, err := f.AwaitStart(t.Context()); err != nil {
			t.Error(err)
			return
		}
		// Workers that are not eager would have sent one message each by then.
		enough := func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.counts.Messages > int64(2*shape.Workers)
		}
		for time.Sleep(time.Second); !enough() && t.Context().Err() == nil; {
			time.Sleep(10 * time.Millisecond)
		}
		f.Stop()
	})
	checkRecord(t, r, counts, dir, 0)
}

// checkRecord compares the record with what was acknowledged. seconds is how many seconds
// each worker reports on; 0: not known.
func checkRecord(t *testing.T, r record.Run, counts Counts, dir string, seconds int64) {
	t.Helper()
	frames, seen, reported := int64(0), map[string]bool{}, map[string]map[int64]bool{}
	err := record.EachFrame(dir, func(f metric.Frame) error {
		if !metric.IsWorker(f.Source) {
			return nil
		}
		frames++
		key := fmt.Sprint(f.Source, " ", f.Sequence)
		if seen[key] {
			t.Errorf("frame %s is in the record twice", key)
		}
		seen[key] = true
		if reported[f.Source] == nil {
			reported[f.Source] = map[int64]bool{}
		}
		reported[f.Source][f.Second] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if frames != counts.Frames {
		t.Errorf("the record holds %d frames, and %d were acknowledged", frames, counts.Frames)
	}
	for i := range len(r.Plan.Load.Workers) {
		if n := int64(len(reported[metric.WorkerSource(i)])); seconds > 0 && n != seconds {
			t.Errorf("worker %d reported on %d seconds, want %d", i, n, seconds)
		}
	}
	for _, s := range r.Timeline.Sources() {
		if metric.IsWorker(s.Name) && (!s.Closed || s.Missing > 0) {
			t.Errorf("stream of %s: %+v", s.Name, s)
		}
	}
}
