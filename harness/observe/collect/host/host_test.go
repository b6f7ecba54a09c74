package host_test

import (
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/harness/observe/collect/host"
	"assay/harness/observe/metric"
	"assay/harness/observe/metric/metrictest"
	"assay/harness/observe/record"
	"assay/harness/servers/process/processtest"
)

// collected holds the frames of a run.
type collected struct {
	*record.Timeline
	frames []metric.Frame
	took   float64 // s
}

// collectFor collects from this machine and from processes for a while.
func collectFor(t *testing.T, d time.Duration, processes map[string]int, target string) collected {
	t.Helper()
	c := host.New(func() map[string]int { return processes }, target)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	all := collected{Timeline: record.NewTimeline()}
	begin := time.Now()
	err := c.Run(ctx, func(f metric.Frame) error {
		all.frames = append(all.frames, f)
		all.Add(f)
		return nil
	})
	all.took = time.Since(begin).Seconds()
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
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

// TestCollect collects from a busy machine: from this process, from one that ends, and from
// two that may use only one CPU.
func TestCollect(t *testing.T) {
	child := processtest.Start(t, exec.Command("sleep", "60"))
	time.AfterFunc(3200*time.Millisecond, func() { _ = child.Kill() })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go busy(ctx, t)
	service := processtest.Start(t, exec.Command("sleep", "60"))
	stop := time.AfterFunc(2*time.Second, func() { _ = unix.Kill(service.PID, unix.SIGSTOP) })
	defer stop.Stop()
	target := httptest.NewServer(http.NotFoundHandler())
	defer target.Close()
	all := collectFor(t, 6300*time.Millisecond, map[string]int{
		"loops": startLoops(t, 2), "test": os.Getpid(), "child": child.PID, "never": 1 << 30, metric.SourceService: service.PID, metric.SourceDatabase: os.Getpid(),
	}, target.URL)
	for _, f := range all.frames {
		for _, p := range f.Points {
			if p.Value < 0 {
				t.Errorf("%s = %v", p.Series.Key(), p.Value)
			}
		}
	}
	last := map[string]float64{} // gauges and counters of the last second
	for _, p := range all.frames[len(all.frames)-2].Points {
		last[p.Series.Key()] = p.Value
	}
	checkMachine(t, all, last)
	checkProcesses(t, all, last)
	checkStopped(t, all)
	trips := all.Hist(metric.NetworkRoundTrip, metric.NewSeries("", "", "path", metric.SourceService).Labels, record.All)
	if longest, ok := trips.Max(); !ok || longest <= 0 || longest > 900 {
		t.Errorf("round trips to the service: %v, the longest %v ms", trips.Count(), longest)
	}
}

// checkStopped checks a service that was stopped after 2 s, and a database that was not.
func checkStopped(t *testing.T, all collected) {
	t.Helper()
	stopped, found := all.sum(metric.ProcessStopped, "process", metric.SourceService)
	if !found || stopped < 1 || stopped > all.took-1 {
		t.Errorf("the service was stopped for %v s of %v", stopped, all.took)
	}
	if stopped, found := all.sum(metric.ProcessStopped, "process", metric.SourceDatabase); !found || stopped != 0 {
		t.Errorf("the database was stopped for %v s", stopped)
	}
}

func checkMachine(t *testing.T, all collected, last map[string]float64) {
	t.Helper()
	// The times of all modes add up to one second per second and CPU; the kernel counts
	// hundredths of a second.
	if got, want := all.total(metric.HostCPU)/all.took, float64(runtime.NumCPU()); got < 0.8*want || got > 1.2*want {
		t.Errorf("CPU time is %.2f s per second, want %v", got, want)
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

func checkProcesses(t *testing.T, all collected, last map[string]float64) {
	t.Helper()
	// The busy goroutine of this process.
	if got := all.total(metric.ProcessCPU, "process", "test"); got < 0.3 || got > all.took*float64(runtime.NumCPU()) {
		t.Errorf("this process used %.2f s of CPU", got)
	}
	if v := last[metric.ProcessMemory+"{process:test}"]; v < 1<<20 {
		t.Errorf("memory of this process is %v", v)
	}
	if v := last[metric.ProcessCPUs+"{process:test}"]; v != last[metric.HostCPUs] {
		t.Errorf("this process may use %v CPUs of %v", v, last[metric.HostCPUs])
	}
	// This process may use all CPUs, so their idle time is that of the machine.
	if got, want := all.total(metric.ProcessCPUIdle, "process", "test"), all.total(metric.HostCPU, "mode", "idle")+all.total(metric.HostCPU, "mode", "iowait"); math.Abs(got-want) > 0.1 {
		t.Errorf("the CPUs that this process may use were idle for %.2f s, all CPUs for %.2f s", got, want)
	}
	if v := all.total(metric.ProcessRunQueue, "process", "loops"); v < 0.3 || v > all.took*float64(runtime.NumCPU()*2) {
		t.Errorf("loops that share a CPU waited %.2f s for it in %.2f s", v, all.took)
	}
	span := record.Span{From: all.frames[0].Second, To: all.frames[0].Second + 3}
	if memory, ok := all.Gauge(metric.ProcessMemory, metric.NewSeries("", "", "process", "child").Labels, metric.SourceHost, span); !slices.Contains(ok, true) || slices.Max(memory) <= 0 {
		t.Errorf("a process was not reported while it ran: %v", memory)
	}
	if _, still := last[metric.ProcessMemory+"{process:child}"]; still {
		t.Error("a process that ended is still reported")
	}
	if _, found := all.sum(metric.ProcessCPU, "process", "never"); found {
		t.Error("a process that does not exist is reported")
	}
}

// busy computes and sends 2 MB over loopback.
func busy(ctx context.Context, t *testing.T) {
	time.Sleep(2 * time.Second) // until after the first reading
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Error(err)
		return
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
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	for buffer := make([]byte, 1<<16); ; {
		if _, err := conn.Read(buffer); err != nil {
			break
		}
	}
	for x := 0; ctx.Err() == nil; x++ {
		_ = x * x
	}
}

func TestDescribe(t *testing.T) {
	h := host.Describe()
	if h.Name == "" || h.OS == "" || h.Kernel == "" || h.CPU == "" || h.CPUs < 1 || h.CPUs > runtime.NumCPU() || h.Memory < 1<<28 {
		t.Errorf("%+v", h)
	}
}

func TestListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if pid, ok := host.Listener(t.Context(), "127.0.0.1", port); !ok || pid != os.Getpid() {
		t.Errorf("process %d listens, %v; want this one, %d", pid, ok, os.Getpid())
	}
	if pid, ok := host.Listener(t.Context(), "127.0.0.2", port); ok {
		t.Errorf("process %d listens at another address", pid)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if pid, ok := host.Listener(t.Context(), "127.0.0.1", port); ok {
		t.Errorf("process %d listens on a port that was closed", pid)
	}
}

// startLoops starts n busy loops on the first CPU, in a shell and its children, and returns
// the shell's pid.
func startLoops(t *testing.T, n int) (pid int) {
	t.Helper()
	loop := "while :; do :; done"
	return processtest.Start(t, exec.Command("taskset", "-c", "0", "sh", "-c", strings.Repeat(loop+" & ", n-1)+loop)).PID
}
