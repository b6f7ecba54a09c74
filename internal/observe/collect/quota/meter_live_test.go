//go:build live

package quota

import (
	"os/exec"
	"testing"
	"time"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/internal/testing/processtest"
	"assay.dev/assay/internal/testing/quotatest"
)

// A busy process may use a twentieth of a CPU, and then any number. If this machine allows
// no quotas, there is none to read.
func TestRealQuota(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.4)
	group, ok := quotatest.Make(t, 0.05)
	if !ok {
		meter := New(processtest.Start(t, exec.Command("sleep", "60")).PID)
		meter.Read()
		if v, ok := meter.Read(); ok && v > 0 {
			t.Errorf("a process that sleeps was throttled for %v s", v)
		}
		return
	}
	busy := processtest.Start(t, exec.Command("sh", "-c", "while :; do :; done"))
	group.Put(busy.PID)
	begin := time.Now()
	meter := New(busy.PID)
	meter.Read()
	sum := 0.0
	polltest.Until(t, "it was throttled for half a second", func() bool {
		v, ok := meter.Read()
		if !ok {
			t.Fatal("the quota is not found")
		}
		sum += v
		return sum >= 0.5
	})
	// The kernel counts whole periods.
	if took := time.Since(begin) + quotatest.Period; sum > took.Seconds() {
		t.Errorf("throttled for %.2f s in %s", sum, took)
	}
	group.Set(50)
	polltest.Until(t, "with enough CPUs it is no longer throttled", func() bool {
		time.Sleep(quotatest.Period) // the rest of the earlier quota's period
		v, ok := meter.Read()
		return ok && v == 0
	})
}
