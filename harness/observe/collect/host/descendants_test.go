package host_test

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"assay/harness/observe/collect/host"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/servers/process/processtest"
)

// The CPU time of a database with a process per session is that of all its processes,
// including ended ones. So is its time in the run queue.
func TestDatabaseOfSeveralProcesses(t *testing.T) {
	const short = "while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done"
	server := processtest.Start(t, exec.Command("taskset", "-c", "0", "sh", "-c", "{ "+short+"; } & { while :; do :; done; } & wait"))
	c := host.New(map[string]int{metric.SourceDatabase: server.PID, "other": server.PID})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	line := record.NewTimeline()
	var last int64
	begin := time.Now()
	if err := c.Run(ctx, func(f metric.Frame) error { line.Add(f); last = f.Second; return nil }); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begin).Seconds()
	sum := func(name, process string) float64 {
		total, _ := line.Sum(name, metric.NewSeries("", "", "process", process).Labels, record.Span{From: 0, To: last + 1})
		return total
	}
	if cpu := sum(metric.ProcessCPU, metric.SourceDatabase); cpu < 0.1*took || cpu > 1.1*took {
		t.Errorf("sessions on one CPU used %.2f s of it in %.2f s", cpu, took)
	}
	if cpu := sum(metric.ProcessCPU, "other"); cpu > 0.1 {
		t.Errorf("the parent process used %.2f s", cpu)
	}
	if waited := sum(metric.ProcessRunQueue, metric.SourceDatabase); waited < 0.1 {
		t.Errorf("sessions that share a CPU waited %.2f s", waited)
	}
}
