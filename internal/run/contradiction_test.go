//go:build live

package run

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/wire"
)

// A worker that sends what it cannot have measured is refused, the run ends, and the frame
// is in the record, which is INVALID because of it. What others send is taken all the same.
func TestWorkerThatContradictsItself(t *testing.T) {
	t.Parallel()
	p := spec.Profile{Name: "payment", Flows: []spec.Flow{{Load: spec.Load{Unit: "tps", Target: 10, Hold: 10 * time.Second}, Timeout: time.Second}}}
	load, err := plan.New(p, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	planned := record.Plan{Schema: "assay/plan/v1", Run: "run", Profile: p, Load: load, Scope: spec.ScopeSmoke, Target: "http://127.0.0.1:8080"}
	w, err := record.Create(dir, planned)
	if err != nil {
		t.Fatal(err)
	}
	keys := wire.NewKeys("run", "token")
	atOnce, cancel := context.WithCancel(t.Context()) // no process is to be waited for
	cancel()
	o := &Options{ID: "run", Dir: dir, Task: Task{Profile: p, Workers: 2}, Progress: func(Event) {}, ForceStop: atOnce, Log: slog.New(slog.DiscardHandler)}
	in := newIntake(p, nil)
	in.writer, in.checker = w, record.NewChecker(planned)
	c := &crew{Options: o, receiver: in.receiver(o, keys), coordinator: fleet.NewCoordinator(fleet.Options{Keys: keys})}
	r := &loading{measuring: &measuring{opened: &opened{Options: o, crew: c, in: in, plan: load, planned: planned}}, faults: &injector{}, t0: time.Now()}
	in.checker.Start(r.t0)
	in.begun.Store(true)
	mux := http.NewServeMux()
	c.receiver.Routes(mux)
	server := httptest.NewServer(mux)
	defer server.Close()
	send := func(worker int, sequence uint64, v float64) error {
		link := wire.New(server.URL, "token", nil).As(wire.Assignment{Source: metric.WorkerSource(worker), Credential: keys.Credential(worker, "identity")})
		body, err := metric.Encode(metric.Frame{
			Source: metric.WorkerSource(worker), Sequence: sequence, Second: r.t0.Unix(), Points: []metric.Point{metric.CounterPoint(metric.Of(metric.WorkerCPU), v)},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = link.Frames(t.Context(), body)
		return err
	}
	if err := errors.Join(send(0, 1, 0.5), send(1, 1, 0.5)); err != nil {
		t.Fatal(err)
	}
	const want = "worker/1 contradicts itself: worker_cpu_seconds is "
	var refused *wire.RefusedError
	if err := send(1, 2, math.NaN()); !errors.As(err, &refused) || refused.Status != http.StatusUnprocessableEntity || !strings.HasPrefix(refused.Reason, want) {
		t.Fatalf("it is answered: %v", err)
	}
	if err := send(1, 2, math.NaN()); err != nil { // the frame was taken
		t.Errorf("repeated: %v", err)
	}
	if err := send(1, 3, -1); !errors.As(err, &refused) {
		t.Errorf("another one is answered: %v", err)
	}
	if err := send(0, 2, 0.5); err != nil {
		t.Errorf("another worker: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.watch(context.Background())
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("the run goes on")
	}
	if !strings.HasPrefix(r.stopped, want) {
		t.Errorf("stopped: %q", r.stopped)
	}
	if err := errors.Join(w.Environment(record.Environment{Schema: "assay/environment/v1"}), w.Seal(record.Facts{Schema: "assay/facts/v1", T0: r.t0.UTC().Truncate(time.Second), Ended: r.t0.UTC().Add(time.Second), Issued: r.t0.UTC().Add(2 * time.Second), Ledger: record.LedgerFact{State: record.StateAbsent}})); err != nil {
		t.Fatal(err)
	}
	opened, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if all := opened.Contradictions; len(all) != 1 || all[0].Source != "worker/1" || all[0].What != "worker_cpu_seconds is NaN" {
		t.Errorf("contradictions %+v", all)
	}
	n := 0
	if err := record.EachFrame(dir, func(metric.Frame) error { n++; return nil }); err != nil || n != 5 {
		t.Errorf("the record holds %d frames: %v", n, err)
	}
}
