package k6

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"assay.dev/assay/internal/load/sql"
	"assay.dev/assay/internal/observe/collect/quota"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/wire"
)

// selfMeter measures the worker's CPU time and memory, and the CPU time that it is
// denied, so that a fleet on many hosts needs no collector on each.
type selfMeter struct {
	source string
	cpu    float64 // seconds used up to the last call
	queued queueTime
	host   hostTime
	quota  *quota.Meter
	clock  *wire.Clock // compared with the coordinator's; nil: not known
}

func newSelfMeter(source string) *selfMeter {
	m := &selfMeter{source: source, cpu: cpuSeconds(), queued: queueSeconds(procfs.DefaultMountPoint), host: hostSeconds(), quota: quota.New(os.Getpid())}
	m.quota.Read() // later readings count from this one
	return m
}

// points returns the usage since the last call.
func (m *selfMeter) points() []metric.Point {
	cpu, queued := cpuSeconds(), queueSeconds(procfs.DefaultMountPoint)
	points := []metric.Point{
		metric.CounterPoint(metric.Of(metric.WorkerCPU), cpu-m.cpu),
		metric.GaugePoint(metric.Of(metric.WorkerCPUs), float64(runtime.GOMAXPROCS(0))),
	}
	if sent := sql.TakeBytesSent(); sent > 0 {
		points = append(points, metric.CounterPoint(metric.Of(metric.WorkerSQLSent), float64(sent)))
	}
	// The total drops when a thread ends, as its waiting time is no longer included.
	if m.queued.known && queued.known && queued.total >= m.queued.total {
		points = append(points, metric.CounterPoint(metric.Of(metric.WorkerRunQueue), queued.total-m.queued.total))
	}
	if rss, ok := residentBytes(); ok {
		points = append(points, metric.GaugePoint(metric.Of(metric.WorkerMemory), rss))
	}
	host := hostSeconds()
	if m.host.known && host.known {
		points = append(points,
			metric.CounterPoint(metric.Of(metric.WorkerHostCPU, "mode", "steal"), max(0, host.stolen-m.host.stolen)),
			metric.CounterPoint(metric.Of(metric.WorkerHostCPU, "mode", "idle"), max(0, host.idle-m.host.idle)),
			metric.CounterPoint(metric.Of(metric.WorkerHostCPU, "mode", "other"), max(0, host.other-m.host.other)))
	}
	if s, ok := m.quota.Read(); ok {
		points = append(points, metric.CounterPoint(metric.Of(metric.CgroupThrottled, "process", m.source), s))
	}
	if m.clock != nil {
		points = append(points,
			metric.GaugePoint(metric.Of(metric.WorkerClockOffset), m.clock.OffsetMs),
			metric.GaugePoint(metric.Of(metric.WorkerClockDrift), m.clock.DriftMs),
			metric.GaugePoint(metric.Of(metric.WorkerRoundTrip), m.clock.RoundTripMs))
	}
	m.cpu, m.queued, m.host = cpu, queued, host
	return points
}

// hostTime is the CPU time of the host since its boot, in seconds.
type hostTime struct {
	stolen, idle, other float64
	known               bool
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
	t := stat.CPUTotal // user and nice include the time of guests
	return hostTime{t.Steal, t.Idle + t.Iowait, t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ, true}
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}

// queueTime is the time for which threads were ready to run but had no CPU, in seconds
// (kernel: Documentation/scheduler/sched-stats). Not every kernel reports it.
type queueTime struct {
	total float64
	known bool
}

// queueSeconds reads the queueTime of this process from the proc file system.
func queueSeconds(proc string) (q queueTime) {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return q
	}
	threads, _ := fs.AllThreads(os.Getpid()) // none where it cannot be read
	for _, t := range threads {
		if s, err := t.Schedstat(); err == nil { // else the thread has ended meanwhile, or it is not reported
			q.total += time.Duration(s.WaitingNanoseconds).Seconds()
			q.known = true
		}
	}
	return q
}

// residentBytes is the memory that the process holds.
func residentBytes() (float64, bool) {
	self, err := procfs.Self()
	if err != nil {
		return 0, false
	}
	m, err := self.Statm()
	return float64(m.ResidentBytes()), err == nil
}
