//go:build live

package host_test

import (
	"testing"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/budget"
)

// The CPU time of a database with a process per session is that of all its processes,
// including ended ones. So is its time in the run queue.
func TestDatabaseOfSeveralProcesses(t *testing.T) {
	t.Parallel()
	const short = "while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done"
	budget.CPUs(t, 0.9)
	server := onOneCPU(t, "{ "+short+"; } & { while :; do :; done; } & wait")
	all := collectUntil(t, map[string]int{metric.SourceDatabase: server.PID, "other": server.PID}, "", "sessions compute, and wait for a CPU", func(all collected) bool {
		return all.total(metric.ProcessCPU, "process", metric.SourceDatabase) >= 0.1 && all.total(metric.ProcessRunQueue, "process", metric.SourceDatabase) >= 0.1
	})
	if cpu := all.total(metric.ProcessCPU, "process", metric.SourceDatabase); cpu > 1.1*all.took {
		t.Errorf("sessions on one CPU used %.2f s of it in %.2f s", cpu, all.took)
	}
	if cpu := all.total(metric.ProcessCPU, "process", "other"); cpu > 0.1 {
		t.Errorf("the parent process used %.2f s", cpu)
	}
}
