package k6

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"assay.dev/assay/internal/load/sql"
	"assay.dev/assay/internal/observe/collect/host"
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
	points = append(points, socketPoints(procfs.DefaultMountPoint)...)
	if l := host.ReadLimits(); l.Descriptors > 0 {
		points = append(points, metric.GaugePoint(metric.Of(metric.WorkerDescriptors), float64(l.Descriptors)))
	}
	hostNow := hostSeconds()
	if m.host.known && hostNow.known {
		points = append(points,
			metric.CounterPoint(metric.Of(metric.WorkerHostCPU, "mode", "steal"), max(0, hostNow.stolen-m.host.stolen)),
			metric.CounterPoint(metric.Of(metric.WorkerHostCPU, "mode", "idle"), max(0, hostNow.idle-m.host.idle)),
			metric.CounterPoint(metric.Of(metric.WorkerHostCPU, "mode", "other"), max(0, hostNow.other-m.host.other)))
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
	m.cpu, m.queued, m.host = cpu, queued, hostNow
	return points
}

// socketPoints are what is left for connections in this process's network namespace.
func socketPoints(proc string) (points []metric.Point) {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return nil
	}
	if low, high := host.PortRange(fs); low > 0 {
		points = append(points, metric.GaugePoint(metric.Of(metric.WorkerPorts), float64(high-low+1)))
	}
	stat, err := fs.NetSockstat() // connections of IPv6 are counted with those of IPv4
	if err != nil {
		return points
	}
	for _, p := range stat.Protocols {
		if p.Protocol == "TCP" && p.TW != nil {
			points = append(points, metric.GaugePoint(metric.Of(metric.WorkerTimeWait), float64(*p.TW)))
		}
	}
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

// Garbage collections are the first disturbance of a worker's latencies: on one core a
// collection of a small heap takes 20 ms, and its backlog as long again. They must be
// rare at the planned rate, which they are not with Go's default target of 100 % of a
// live heap of 20 MiB.
const (
	// collectEvery is the intended time between collections, in seconds.
	collectEvery = 5
	// garbage is that of one transaction with one request, in bytes: 12 KiB measured
	// (make bench), and a reserve for the script's own.
	garbage = 16 << 10
	// minRoomFactor is the minimum of garbage between two collections, as a multiple of
	// the live heap.
	minRoomFactor = 4
	// maxRoom bounds the garbage between two collections, in bytes.
	maxRoom = 1 << 30
	// minPercent is the lowest target in percent: Go's default.
	minPercent = 100
)

// gcTuner adjusts the target of Go's garbage collector. Memory stops growing after
// collectEvery seconds at the planned rate.
type gcTuner struct {
	rate    float64 // transactions per second
	percent int     // current target
	limit   int64   // current limit of the heap
	fixed   bool    // the environment sets the target
}

func newGCTuner(rate float64) *gcTuner {
	return &gcTuner{rate: rate, fixed: os.Getenv("GOGC") != ""}
}

// adjust sets the target for the current live heap. Setting it stops the world for a
// moment, so that small changes are ignored.
func (g *gcTuner) adjust() {
	if g.fixed {
		return
	}
	live := liveHeap()
	// The target is a share of the live heap, which may grow by gigabytes within a second,
	// as by huge answers: it would let as much garbage again through, several times.
	if limit := int64(live) + maxRoom + max(maxRoom, int64(live)); 10*max(limit-g.limit, g.limit-limit) > g.limit {
		debug.SetMemoryLimit(limit)
		g.limit = limit
	}
	percent := gcPercent(live, g.rate)
	if change := percent - g.percent; 10*max(change, -change) <= g.percent {
		return
	}
	debug.SetGCPercent(percent)
	g.percent = percent
}

// gcPercent is the target for a live heap in bytes and a rate in transactions per
// second.
func gcPercent(live uint64, rate float64) int {
	heap := float64(max(live, 1))
	room := min(max(minRoomFactor*heap, rate*collectEvery*garbage), maxRoom)
	return int(max(minPercent, 100*room/heap))
}

// liveHeap is the heap after the last collection, in bytes.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
