package host_test

import (
	"context"
	"math"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"assay/harness/observe/collect/host"
	"assay/harness/observe/metric"
	"assay/harness/observe/metric/metrictest"
	"assay/harness/observe/record"
	"assay/harness/servers/process/processtest"
)

func TestCollect(t *testing.T) {
	child := processtest.Start(t, exec.Command("sleep", "60"))
	// Two processes that may use only one CPU.
	loops := startLoops(t, 2)
	c := host.New(map[string]int{"loops": loops, "test": os.Getpid(), "child": child.PID, "never": 1 << 30})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3300*time.Millisecond)
	defer cancel()
	time.AfterFunc(1500*time.Millisecond, func() {
		_ = child.Kill()
	})
	go busy(ctx, t)

	var frames []metric.Frame
	line := record.NewTimeline()
	begin := time.Now()
	err := c.Run(ctx, func(f metric.Frame) error {
		frames = append(frames, f)
		line.Add(f)
		return nil
	})
	took := time.Since(begin).Seconds()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	metrictest.Check(t, frames...)
	metrictest.CheckStream(t, metric.SourceHost, frames)
	for _, f := range frames {
		for _, p := range f.Points {
			if p.Value < 0 {
				t.Errorf("%s = %v", p.Series.Key(), p.Value)
			}
		}
	}
	span := record.Span{From: frames[0].Second, To: frames[len(frames)-1].Second + 1}
	sum := func(name string, labels ...string) float64 {
		total, _ := line.Sum(name, metric.NewSeries("", "", labels...).Labels, span)
		return total
	}

	// The times of all modes add up to one second per second and CPU; the kernel counts
	// hundredths of a second.
	if got, want := sum(metric.HostCPU)/took, float64(runtime.NumCPU()); got < 0.8*want || got > 1.2*want {
		t.Errorf("CPU time is %.2f s per second, want %v", got, want)
	}
	// The busy goroutine of this process.
	if got := sum(metric.ProcessCPU, "process", "test"); got < 0.3 || got > took*float64(runtime.NumCPU()) {
		t.Errorf("this process used %.2f s of CPU", got)
	}
	for _, name := range []string{metric.HostNetReceived, metric.HostNetSent} {
		if got := sum(name, "interface", "loopback"); got < 1<<20 {
			t.Errorf("%s on loopback is %v, want at least what was sent", name, got)
		}
	}
	last := frames[len(frames)-2]
	got := map[string]float64{}
	for _, p := range last.Points {
		got[p.Series.Key()] = p.Value
	}
	if v := got[metric.HostMemoryAvailable]; v < 1<<20 {
		t.Errorf("memory available is %v", v)
	}
	if v := got[metric.HostCPUs]; v < 1 {
		t.Errorf("CPUs are %v", v)
	}
	if v := got[metric.ProcessMemory+"{process:test}"]; v < 1<<20 {
		t.Errorf("memory of this process is %v", v)
	}
	if _, still := got[metric.ProcessMemory+"{process:child}"]; still {
		t.Error("a process that ended is still reported")
	}
	if v := got[metric.ProcessCPUs+"{process:test}"]; v != got[metric.HostCPUs] {
		t.Errorf("this process may use %v CPUs of %v", v, got[metric.HostCPUs])
	}
	// This process may use all CPUs, so their idle time is that of the machine.
	if got, want := sum(metric.ProcessCPUIdle, "process", "test"), sum(metric.HostCPU, "mode", "idle")+sum(metric.HostCPU, "mode", "iowait"); math.Abs(got-want) > 0.1 {
		t.Errorf("the CPUs that this process may use were idle for %.2f s, all CPUs for %.2f s", got, want)
	}
	if v := sum(metric.ProcessRunQueue, "process", "loops"); v < 0.3 || v > took*float64(runtime.NumCPU()*2) {
		t.Errorf("loops that share a CPU waited %.2f s for it in %.2f s", v, took)
	}
	memory, ok := line.Gauge(metric.ProcessMemory, metric.NewSeries("", "", "process", "child").Labels, "host", span)
	if !ok[0] || memory[0] <= 0 {
		t.Errorf("a process was not reported while it ran: %v", memory)
	}
	if _, found := line.Sum(metric.ProcessCPU, metric.NewSeries("", "", "process", "never").Labels, span); found {
		t.Error("a process that does not exist is reported")
	}
}

// busy computes and sends 2 MB over loopback.
func busy(ctx context.Context, t *testing.T) {
	time.Sleep(300 * time.Millisecond) // until after the first reading
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
