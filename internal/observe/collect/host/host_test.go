//go:build live

package host_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/observe/collect/host"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/internal/testing/processtest"
)

// collected is what a collector has sent so far.
type collected struct {
	*record.Timeline
	frames []metric.Frame
	took   float64 // s, since before the first reading
}

// collectUntil collects from this machine and from processes until what was sent meets a
// condition.
func collectUntil(t *testing.T, processes map[string]int, target, condition string, met func(collected) bool) collected {
	t.Helper()
	return collect(t, processes, target, func(await func(string, func(collected) bool)) { await(condition, met) })
}

// collect collects while during runs, which waits for what is sent.
func collect(t *testing.T, processes map[string]int, target string, during func(await func(condition string, met func(collected) bool))) collected {
	t.Helper()
	c := host.New(func() map[string]int { return processes }, target)
	begin := time.Now()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	var frames []metric.Frame
	soFar := func() collected {
		mu.Lock()
		defer mu.Unlock()
		all := collected{Timeline: record.NewTimeline(), frames: slices.Clone(frames), took: time.Since(begin).Seconds()}
		for _, f := range frames {
			all.Add(f)
		}
		return all
	}
	ended := make(chan error, 1)
	go func() {
		ended <- c.Run(ctx, func(f metric.Frame) error {
			mu.Lock()
			defer mu.Unlock()
			frames = append(frames, f)
			return nil
		})
	}()
	during(func(condition string, met func(collected) bool) {
		t.Helper()
		polltest.Until(t, condition, func() bool { return met(soFar()) })
	})
	cancel()
	if err := errors.Join(<-ended, c.Close()); err != nil {
		t.Fatal(err)
	}
	all := soFar()
	metrictest.Check(t, all.frames...)
	metrictest.CheckStream(t, metric.SourceHost, all.frames)
	return all
}

// sum adds up a counter over the series with these labels; false if there is none.
func (c collected) sum(name string, labels ...string) (float64, bool) {
	return c.Sum(name, metric.NewSeries("", "", labels...).Labels, record.All)
}

func (c collected) total(name string, labels ...string) float64 {
	total, _ := c.sum(name, labels...)
	return total
}

// TestCollect collects from a busy machine: from this process, from one that ends, from one
// that is stopped, and from two that may use only one CPU.
func TestCollect(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	child := processtest.Start(t, exec.Command("sleep", "600"))
	service := processtest.Start(t, exec.Command("sleep", "600"))
	loops := startLoops(t, 2)
	target := httptest.NewServer(http.NotFoundHandler())
	defer target.Close()
	all := collect(t, map[string]int{
		"loops": loops.PID, "test": os.Getpid(), "child": child.PID, "never": 1 << 30, metric.SourceService: service.PID, metric.SourceDatabase: os.Getpid(),
	}, target.URL, func(await func(string, func(collected) bool)) {
		await("there is a frame", func(all collected) bool { return len(all.frames) > 0 })
		busy(t)
		await("the processes are seen", func(all collected) bool {
			child, _ := all.MaxGauge(metric.ProcessMemory, metric.NewSeries("", "", "process", "child").Labels, record.All)
			return child > 0 && all.total(metric.ProcessCPU, "process", "test") >= 0.1 && all.total(metric.ProcessRunQueue, "process", "loops") >= 0.1
		})
		if err := errors.Join(unix.Kill(-loops.PID, unix.SIGKILL), unix.Kill(service.PID, unix.SIGSTOP), child.Kill()); err != nil {
			t.Error(err)
		}
		await("the service is stopped, and the child has ended", func(all collected) bool {
			_, still := lastSecond(all)[metric.ProcessMemory+"{process:child}"]
			return !still && all.total(metric.ProcessStopped, "process", metric.SourceService) >= 1
		})
	})
	for _, f := range all.frames {
		for _, p := range f.Points {
			if p.Value < 0 {
				t.Errorf("%s = %v", p.Series.Key(), p.Value)
			}
		}
	}
	last := map[string]float64{}
	for _, f := range all.frames[:len(all.frames)-1] { // the last one closes the stream
		maps.Copy(last, pointsOf(f))
	}
	checkMachine(t, all, last)
	checkProcesses(t, all, last)
	checkStopped(t, all)
	trips := all.Hist(metric.NetworkRoundTrip, metric.NewSeries("", "", "path", metric.SourceService).Labels, record.All)
	if longest, ok := trips.Max(); !ok || longest <= 0 {
		t.Errorf("round trips to the service: %v, the longest %v ms", trips.Count(), longest)
	}
}

// pointsOf are the values of a frame by series.
func pointsOf(f metric.Frame) map[string]float64 {
	all := map[string]float64{}
	for _, p := range f.Points {
		all[p.Series.Key()] = p.Value
	}
	return all
}

// lastSecond are the points of the last second that has any.
func lastSecond(all collected) map[string]float64 {
	for _, f := range slices.Backward(all.frames) {
		if len(f.Points) > 0 {
			return pointsOf(f)
		}
	}
	return nil
}

// checkStopped checks a service that was stopped for a part of the time, and a database that
// was not.
func checkStopped(t *testing.T, all collected) {
	t.Helper()
	stopped, found := all.sum(metric.ProcessStopped, "process", metric.SourceService)
	if !found || stopped < 1 || stopped > all.took {
		t.Errorf("the service was stopped for %v s of %v", stopped, all.took)
	}
	if stopped, found := all.sum(metric.ProcessStopped, "process", metric.SourceDatabase); !found || stopped != 0 {
		t.Errorf("the database was stopped for %v s", stopped)
	}
}

func checkMachine(t *testing.T, all collected, last map[string]float64) {
	t.Helper()
	// The times of all modes add up to one second per second and CPU; the kernel counts
	// hundredths of a second. The last reading may be a little before the end.
	if got, most := all.total(metric.HostCPU), all.took*float64(online(t)); got < 0.5*most || got > 1.2*most {
		t.Errorf("CPU time is %.2f s in %.2f s on %v CPUs", got, all.took, online(t))
	}
	for _, name := range []string{metric.HostNetReceived, metric.HostNetSent} {
		if got := all.total(name, "interface", "loopback"); got < 1<<20 {
			t.Errorf("%s on loopback is %v, want at least what was sent", name, got)
		}
	}
	if v := last[metric.HostMemoryAvailable]; v < 1<<20 {
		t.Errorf("memory available is %v", v)
	}
	if v := last[metric.HostCPUs]; v < 1 {
		t.Errorf("CPUs are %v", v)
	}
}

// online is the number of CPUs of this machine. This process may be confined to some of them.
func online(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\ncpu") // the first line is the sum of all
}

func checkProcesses(t *testing.T, all collected, last map[string]float64) {
	t.Helper()
	if got := all.total(metric.ProcessCPU, "process", "test"); got < 0.1 || got > all.took*float64(runtime.NumCPU()+1) {
		t.Errorf("this process used %.2f s of CPU", got)
	}
	if v := last[metric.ProcessMemory+"{process:test}"]; v < 1<<20 {
		t.Errorf("memory of this process is %v", v)
	}
	if v := last[metric.ProcessCPUs+"{process:test}"]; v != float64(runtime.NumCPU()) {
		t.Errorf("this process may use %v CPUs, want %v", v, runtime.NumCPU())
	}
	// Where this process may use all CPUs, their idle time is that of the machine.
	if got, want := all.total(metric.ProcessCPUIdle, "process", "test"), all.total(metric.HostCPU, "mode", "idle")+all.total(metric.HostCPU, "mode", "iowait"); got > want+0.1 || got < want-0.1 && runtime.NumCPU() == online(t) {
		t.Errorf("the CPUs that this process may use were idle for %.2f s, all CPUs for %.2f s", got, want)
	}
	if v := all.total(metric.ProcessRunQueue, "process", "loops"); v < 0.1 || v > 2*all.took {
		t.Errorf("loops that share a CPU waited %.2f s for it in %.2f s", v, all.took)
	}
	if _, still := lastSecond(all)[metric.ProcessMemory+"{process:child}"]; still {
		t.Error("a process that ended is still reported")
	}
	if _, found := all.sum(metric.ProcessCPU, "process", "never"); found {
		t.Error("a process that does not exist is reported")
	}
}

// busy sends 2 MB over loopback, and computes until this process has used 0.2 s of CPU.
func busy(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = conn.Write(make([]byte, 2<<20))
			_ = conn.Close()
		}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if n, err := io.Copy(io.Discard, conn); n != 2<<20 || err != nil {
		t.Errorf("%d bytes were received: %v", n, err)
	}
	for begin := used(t); used(t)-begin < 200*time.Millisecond; {
		for x := range 1_000_000 {
			_ = x * x
		}
	}
}

// used is the CPU time of this process.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// startLoops starts n busy loops on one CPU, in a shell and its children.
func startLoops(t *testing.T, n int) *process.Child {
	t.Helper()
	loop := "while :; do :; done"
	return onOneCPU(t, strings.Repeat(loop+" & ", n-1)+loop)
}

// onOneCPU starts a shell that may use only the first of this process's CPUs.
func onOneCPU(t *testing.T, script string) *process.Child {
	t.Helper()
	var mine unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mine); err != nil {
		t.Fatal(err)
	}
	first := 0
	for !mine.IsSet(first) {
		first++
	}
	return processtest.Start(t, exec.Command("taskset", "-c", strconv.Itoa(first), "sh", "-c", script))
}
