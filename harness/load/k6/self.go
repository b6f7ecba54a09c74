package k6

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"assay/harness/observe/collect/quota"
	"assay/harness/observe/metric"
)

// selfMeter measures what the worker itself uses, and what others take from it,
// so that a fleet on many hosts needs nobody to look at its processes.
type selfMeter struct {
	source string
	cpu    float64 // seconds used up to the last call
	wait   float64 // seconds its threads waited for a CPU up to the last call
	host   hostTime
	quota  *quota.Meter
}

func newSelfMeter(source string) *selfMeter {
	m := &selfMeter{source: source, cpu: cpuSeconds(), wait: runQueueSeconds(), host: hostSeconds(), quota: quota.New(os.Getpid())}
	m.quota.Read() // what later readings count from
	return m
}

// points are the use since the last call.
func (m *selfMeter) points() []metric.Point {
	cpu, wait := cpuSeconds(), runQueueSeconds()
	points := []metric.Point{
		metric.CounterPoint(metric.Of(metric.WorkerCPU), cpu-m.cpu),
		metric.GaugePoint(metric.Of(metric.WorkerCPUs), float64(runtime.GOMAXPROCS(0))),
	}
	if sent := sentToDatabases.Swap(0); sent > 0 {
		points = append(points, metric.CounterPoint(metric.Of(metric.WorkerSQLSent), float64(sent)))
	}
	// A thread that ends takes its waiting time with it.
	if wait >= m.wait {
		points = append(points, metric.CounterPoint(metric.Of(metric.WorkerRunQueue), wait-m.wait))
	}
	if rss, ok := residentBytes(); ok {
		points = append(points, metric.GaugePoint(metric.Of(metric.WorkerMemory), rss))
	}
	host := hostSeconds()
	if m.host.known && host.known {
		points = append(points,
			metric.CounterPoint(metric.Of(metric.WorkerHostCPU, "mode", "steal"), max(0, host.stolen-m.host.stolen)),
			metric.CounterPoint(metric.Of(metric.WorkerHostCPU, "mode", "other"), max(0, host.other-m.host.other)))
	}
	if s, ok := m.quota.Read(); ok {
		points = append(points, metric.CounterPoint(metric.Of(metric.CgroupThrottled, "process", m.source), s))
	}
	m.cpu, m.wait, m.host = cpu, wait, host
	return points
}

// hostTime is the CPU time of the host since it is up, in seconds.
type hostTime struct {
	stolen, other float64
	known         bool
}

func hostSeconds() hostTime {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return hostTime{}
	}
	stat, err := proc.Stat()
	if err != nil {
		return hostTime{}
	}
	t := stat.CPUTotal // guests' time is part of user and nice
	return hostTime{t.Steal, t.User + t.Nice + t.System + t.Idle + t.Iowait + t.IRQ + t.SoftIRQ, true}
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}

// runQueueSeconds sums the second field of each thread's schedstat: the time
// it was ready to run but had no CPU (kernel: Documentation/scheduler/sched-stats).
func runQueueSeconds() float64 {
	const tasks = "/proc/self/task"
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return 0
	}
	total := 0.0
	for _, t := range threads {
		data, err := os.ReadFile(tasks + "/" + t.Name() + "/schedstat")
		if err != nil {
			continue // the thread has ended meanwhile
		}
		if fields := strings.Fields(string(data)); len(fields) >= 2 {
			if ns, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				total += time.Duration(ns).Seconds()
			}
		}
	}
	return total
}

// residentBytes is the memory that the process holds, from /proc/self/statm.
func residentBytes() (float64, bool) {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return float64(pages) * float64(os.Getpagesize()), err == nil
}
