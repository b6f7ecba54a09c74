package verdict

import (
	"math"
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

// How busy a worker's host was is known if the worker reports its idle time; the time that
// the hypervisor took counts as busy.
func TestBusyHost(t *testing.T) {
	c := fleetOf(2, func(int64) (float64, string) { return 10, metric.Completed })
	host := func(mode string, seconds float64) metric.Point {
		return metric.CounterPoint(metric.NewSeries(metric.WorkerHostCPU, "s", "mode", mode), seconds)
	}
	each(c, "worker/0", host("steal", 0.2), host("idle", 1.2), host("other", 0.6))
	each(c, "worker/1", host("steal", 0.2), host("other", 1.8)) // as an older build reports
	all := Judge(c.Record()).Generator.Fleet
	if busy := all[0].HostCPUShare; busy == nil || math.Abs(*busy-0.4) > 1e-9 {
		t.Errorf("worker/0: %v, want 0.4", busy)
	}
	if busy := all[1].HostCPUShare; busy != nil {
		t.Errorf("worker/1: %v, want none", *busy)
	}
}
