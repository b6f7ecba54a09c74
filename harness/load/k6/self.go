package k6

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay/harness/observe/metric"
)

// selfMeter measures what the worker itself uses, so that a fleet on many
// hosts needs nobody to look at its processes.
type selfMeter struct {
	cpu  float64 // seconds used up to the last call
	wait float64 // seconds its threads waited for a CPU up to the last call
}

func newSelfMeter() *selfMeter {
	return &selfMeter{cpu: cpuSeconds(), wait: runQueueSeconds()}
}

// points are the use since the last call.
func (m *selfMeter) points() []metric.Point {
	cpu, wait := cpuSeconds(), runQueueSeconds()
	points := []metric.Point{
		metric.CounterPoint(metric.NewSeries(metric.WorkerCPU, "s"), cpu-m.cpu),
		metric.GaugePoint(metric.NewSeries(metric.WorkerCPUs, ""), float64(runtime.GOMAXPROCS(0))),
	}
	// A thread that ends takes its waiting time with it.
	if wait >= m.wait {
		points = append(points, metric.CounterPoint(metric.NewSeries(metric.WorkerRunQueue, "s"), wait-m.wait))
	}
	if rss, ok := residentBytes(); ok {
		points = append(points, metric.GaugePoint(metric.NewSeries(metric.WorkerMemory, "By"), rss))
	}
	m.cpu, m.wait = cpu, wait
	return points
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
