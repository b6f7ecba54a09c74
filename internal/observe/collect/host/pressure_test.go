//go:build live

package host_test

import (
	"os"
	"os/exec"
	"testing"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/processtest"
	"assay.dev/assay/internal/testing/quotatest"
)

// Pressure is reported as the kernel records it. Throttling is reported for the database
// and the service; workers report theirs themselves.
func TestPressureAndThrottling(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.9)
	// Three loops on one CPU: two of them always wait for it.
	startLoops(t, 3)
	throttled := processtest.Start(t, exec.Command("sleep", "600"))
	group, limited := quotatest.Make(t, 0.05)
	if limited {
		throttled = processtest.Start(t, exec.Command("sh", "-c", "while :; do :; done"))
		group.Put(throttled.PID)
	}
	_, noPressure := os.ReadFile("/proc/pressure/cpu")
	all := collectUntil(t, map[string]int{metric.SourceDatabase: throttled.PID, "worker/0": throttled.PID, metric.SourceService: os.Getpid()}, "", "tasks wait for a CPU, and for their quota", func(all collected) bool {
		waited := all.total(metric.HostPressure, "resource", "cpu", "kind", "some")
		return len(all.frames) > 0 && (noPressure != nil || waited >= 0.1) && (!limited || all.total(metric.CgroupThrottled, "process", metric.SourceDatabase) >= 0.1)
	})
	took := all.took
	for _, resource := range []string{"cpu", "io", "memory"} {
		_, err := os.ReadFile("/proc/pressure/" + resource)
		for _, kind := range []string{"some", "full"} {
			v, found := all.sum(metric.HostPressure, "resource", resource, "kind", kind)
			counted := err == nil && (resource != "cpu" || kind == "some")
			if found != counted || v > 1.1*took {
				t.Errorf("pressure on %s, %s: %v s in %v s, %v", resource, kind, v, took, found)
			}
		}
	}
	if v, found := all.sum(metric.CgroupThrottled, "process", metric.SourceDatabase); limited && !found || v > 1.1*(took+quotatest.Period.Seconds()) { // the kernel counts whole periods
		t.Errorf("a quota of 5 %% throttled the database for %v s in %v s, %v", v, took, found)
	}
	if v, found := all.sum(metric.CgroupThrottled, "process", "worker/0"); found {
		t.Errorf("%v s are reported for a worker", v)
	}
}
