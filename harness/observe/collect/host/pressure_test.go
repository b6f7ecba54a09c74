package host_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"assay/harness/observe/collect/host"
	"assay/harness/observe/collect/quota/quotatest"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/servers/process/processtest"
)

// Pressure is reported as the kernel records it. Throttling is reported for the database
// and the service; workers report theirs themselves.
func TestPressureAndThrottling(t *testing.T) {
	// Three loops on one CPU: two of them always wait for it.
	startLoops(t, 3)
	throttled := processtest.Start(t, exec.Command("nice", "-n", "-10", "sh", "-c", "while :; do :; done"))
	group, limited := quotatest.Make(t, 0.05)
	if limited {
		group.Put(throttled.PID)
	}
	c := host.New(map[string]int{metric.SourceDatabase: throttled.PID, "worker/0": throttled.PID, metric.SourceService: os.Getpid()})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	line := record.NewTimeline()
	begin := time.Now()
	if err := c.Run(ctx, func(f metric.Frame) error { line.Add(f); return nil }); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begin).Seconds()
	sum := func(name string, labels ...string) (float64, bool) {
		return line.Sum(name, metric.NewSeries("", "", labels...).Labels, record.All)
	}

	for _, resource := range []string{"cpu", "io", "memory"} {
		_, err := os.ReadFile("/proc/pressure/" + resource)
		for _, kind := range []string{"some", "full"} {
			v, found := sum(metric.HostPressure, "resource", resource, "kind", kind)
			counted := err == nil && (resource != "cpu" || kind == "some")
			if found != counted || v > 1.1*took {
				t.Errorf("pressure on %s, %s: %v s in %v s, %v", resource, kind, v, took, found)
			}
			if resource == "cpu" && counted && v < 0.3*took {
				t.Errorf("tasks that share a CPU waited %v s in %v s", v, took)
			}
		}
	}
	if v, found := sum(metric.CgroupThrottled, "process", metric.SourceDatabase); limited && (!found || v < 0.3*took) || v > 1.1*took {
		t.Errorf("a quota of 5 %% throttled the database for %v s in %v s, %v", v, took, found)
	}
	if v, found := sum(metric.CgroupThrottled, "process", "worker/0"); found {
		t.Errorf("%v s are reported for a worker", v)
	}
}
