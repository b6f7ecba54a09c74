package host_test

import (
	"os/exec"
	"testing"
	"time"

	"assay/harness/observe/metric"
	"assay/harness/servers/process/processtest"
)

// The CPU time of a database with a process per session is that of all its processes,
// including ended ones. So is its time in the run queue.
func TestDatabaseOfSeveralProcesses(t *testing.T) {
	const short = "while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done"
	server := processtest.Start(t, exec.Command("taskset", "-c", "0", "sh", "-c", "{ "+short+"; } & { while :; do :; done; } & wait"))
	all := collectFor(t, 4*time.Second, map[string]int{metric.SourceDatabase: server.PID, "other": server.PID}, "")
	if cpu := all.total(metric.ProcessCPU, "process", metric.SourceDatabase); cpu < 0.1*all.took || cpu > 1.1*all.took {
		t.Errorf("sessions on one CPU used %.2f s of it in %.2f s", cpu, all.took)
	}
	if cpu := all.total(metric.ProcessCPU, "process", "other"); cpu > 0.1 {
		t.Errorf("the parent process used %.2f s", cpu)
	}
	if waited := all.total(metric.ProcessRunQueue, "process", metric.SourceDatabase); waited < 0.1 {
		t.Errorf("sessions that share a CPU waited %.2f s", waited)
	}
}
