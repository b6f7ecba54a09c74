//go:build long

package run_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/testing/processtest"
	"assay.dev/assay/internal/testing/quotatest"
)

// pinned returns a wrapper that runs the executable on one CPU. The kernel throttles a
// quota group per CPU: on a second CPU the heartbeat would continue.
func pinned(t *testing.T, executable string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pinned")
	if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\nexec taskset -c 0 '%s' \"$@\"\n", executable), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// startBusyLoop starts a process that competes for the worker's CPU with the same
// priority, like a neighbour in its container.
func startBusyLoop(t *testing.T) (pid int) {
	t.Helper()
	return processtest.Start(t, exec.Command("taskset", "-c", "0", "nice", "-n", "-10", "sh", "-c", "while :; do :; done")).PID
}

// lostTime returns what the record has from the judged window on, in s: the worker's
// throttled time, and its stalls by the heartbeat. limited: it has a quota.
func lostTime(r record.Run) (throttled, stalled float64, limited bool) {
	span := record.Span{From: judged(r).From, To: record.All.To}
	throttled, limited = r.Timeline.Sum(metric.CgroupThrottled, metric.NewSeries("", "", "process", "worker/0").Labels, span)
	ms, _ := r.Timeline.Sum(metric.GeneratorStall, nil, span)
	return throttled, ms / 1000, limited
}

// The time for which a CPU quota throttles a worker and its neighbour is in the worker's
// frames, agrees with its heartbeat, and is a limitation. Where no quota can be set the
// worker is suspended in bursts instead.
func TestLongThrottledTimeMatchesHeartbeat(t *testing.T) {
	cpus(t, 0.3)
	group, ok := quotatest.Make(t, 50) // 50 CPUs: throttles nothing
	if !ok {
		checkPausedTime(t)
		return
	}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	o := options(t, loose(steady(20, 8*time.Second)), getScript, server.URL)
	o.Executable = pinned(t, o.Executable)
	neighbour := startBusyLoop(t)
	o.Progress = func(e run.Event) {
		switch {
		case enter(plan.Warmup)(e):
			group.Put(worker(t, o.ID, 0))
			group.Put(neighbour)
		case enter(plan.Hold)(e):
			group.Set(0.2)
		case enter(plan.Cooldown)(e):
			group.Set(50)
		}
	}
	r := certify(t, o)
	throttled, stalled, limited := lostTime(r)
	t.Logf("throttled for %.2f s of %d s, stalled by the heartbeat for %.2f s", throttled, judged(r).Seconds(), stalled)
	if share := throttled / float64(judged(r).Seconds()); !limited || share < 0.2 || share > 1.2 {
		t.Errorf("a quota of 0.2 CPUs throttled a group that wants a whole CPU for %.0f %% of the time", 100*share)
	}
	if stalled < throttled/2.5 || stalled > 2.5*throttled {
		t.Errorf("the worker was throttled for %.2f s, and stalled by its heartbeat for %.2f s", throttled, stalled)
	}
	for _, rule := range verdict.Judge(r).Rules {
		stated := strings.HasPrefix(rule.Detail, "a CPU quota throttled the generator for ") && (rule.Outcome == verdict.Invalid || rule.Limitation != "")
		if rule.ID == "cpu-throttled" && !stated {
			t.Errorf("%s: %s", rule.Outcome, rule.Detail)
		}
	}
}

// The heartbeat of a worker that is suspended in bursts measures for how long.
func TestLongPausedTimeMatchesHeartbeat(t *testing.T) { checkPausedTime(t) }

func checkPausedTime(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	// The worker must still run when the last pause ends.
	o := options(t, loose(steady(20, 14*time.Second)), getScript, server.URL)
	paused := make(chan time.Duration, 1)
	o.Progress = func(e run.Event) {
		if enter(plan.Hold)(e) {
			go func(pid int) { paused <- pause(t, pid, 10) }(worker(t, o.ID, 0))
		}
	}
	r := certify(t, o)
	took := (<-paused).Seconds()
	_, stalled, _ := lostTime(r)
	t.Logf("suspended for %.2f s, stalled by the heartbeat for %.2f s", took, stalled)
	// The heartbeat stalls as well while the worker waits for a CPU.
	waited, _ := r.Timeline.SumOf("worker/0", metric.WorkerRunQueue, nil, record.All)
	if stalled < took/2 || stalled > 2*took+waited {
		t.Errorf("the worker was suspended for %.2f s and waited %.2f s for CPUs, and stalled by its heartbeat for %.2f s", took, waited, stalled)
	}
	checkHostCPU(t, r)
}

// pause suspends a process that many times for 250 ms, and returns for how long in all.
func pause(t *testing.T, pid, times int) (took time.Duration) {
	for range times {
		begin := time.Now()
		if err := suspend(pid, 250*time.Millisecond); err != nil {
			t.Error(err)
		}
		took += time.Since(begin)
		time.Sleep(350 * time.Millisecond)
	}
	return took
}

// checkHostCPU compares the host's CPU time and its stolen share as measured by the worker
// and by the collector, which are on the same host.
func checkHostCPU(t *testing.T, r record.Run) {
	t.Helper()
	of := func(name string) (all, stolen float64) {
		all, _ = r.Timeline.Sum(name, nil, judged(r))
		v, _ := r.Timeline.Sum(name, metric.NewSeries("", "", "mode", "steal").Labels, judged(r))
		return all, v / all
	}
	all, stolen := of(metric.HostCPU)
	again, seen := of(metric.WorkerHostCPU)
	if all == 0 || again < 0.7*all || again > 1.3*all || math.Abs(seen-stolen) > 0.1 {
		t.Errorf("the host's CPU time is %.2f s, %.3f of it stolen; measured by the worker %.2f s, %.3f", all, stolen, again, seen)
	}
}
