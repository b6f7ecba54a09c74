package host

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"
	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/metric"
)

// Collector collects from this machine.
type Collector struct {
	proc    procfs.FS
	block   blockdevice.FS
	last    map[string]float64  // previous values of counters, by series
	watched map[string]*process // by name; nil: not read yet
	pids    func() map[string]int
	idle    idleTimes
	stops   stops
	trips   roundTrips
	at      time.Time // time of the previous reading
}

// idleTimes holds the idle time of each CPU, in s.
type idleTimes struct {
	total    map[int64]float64 // since the machine's boot
	increase map[int64]float64 // between the last two readings; empty: unknown
}

var _ collect.Collector = (*Collector)(nil)

// New makes a collector that also watches processes: their ids by name, as known at each
// reading. A process that has ended is no longer reported. target is the URL of
// the service, to which the round trip is measured; empty: none.
func New(processes func() map[string]int, target string) *Collector {
	c := &Collector{
		pids: processes, watched: map[string]*process{},
		stops: stops{pids: processes, seen: map[string]sampledState{}},
	}
	if u, err := url.Parse(target); err == nil && u.Hostname() != "" {
		c.trips.target = u
	}
	return c
}

func (c *Collector) Source() string { return metric.SourceHost }

// Start checks that /proc and /sys can be read.
func (c *Collector) Start(context.Context) error {
	var err error
	if c.proc, err = procfs.NewDefaultFS(); err != nil {
		return fmt.Errorf("collect from the host: %w (it needs Linux with /proc mounted)", err)
	}
	if c.block, err = blockdevice.NewDefaultFS(); err != nil {
		return fmt.Errorf("collect from the host: %w (it needs Linux with /sys mounted)", err)
	}
	if _, err := c.proc.Stat(); err != nil {
		return fmt.Errorf("collect from the host: %w", err)
	}
	return nil
}

// Run reads every second until ctx is done. Values that cannot be read are missing from
// the frame.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	c.last, c.stops.proc, c.at = map[string]float64{}, c.proc, time.Now()
	probing, cancel := context.WithCancel(ctx)
	var sampling crash.Group
	defer func() { cancel(); sampling.Wait() }()
	c.read(probing) // the base of later increases
	sampling.Go(func() { c.stops.run(probing) })
	return collect.EverySecond(ctx, c.Source(), sink, func() []metric.Point { return c.read(probing) })
}

func (c *Collector) Close() error { return nil }

// points gathers the points of one reading.
type points struct {
	all  []metric.Point
	last map[string]float64 // counters at the last reading, by series key
	now  map[string]float64 // counters at this reading
}

func (p *points) gauge(name string, v float64, labels ...string) {
	p.all = append(p.all, metric.GaugePoint(metric.Of(name, labels...), v))
}

// increase adds an increase of a counter since the last reading.
func (p *points) increase(name string, v float64, labels ...string) {
	p.all = append(p.all, metric.CounterPoint(metric.Of(name, labels...), v))
}

// counter adds the increase since the last reading of a counter whose value is now v. A
// decrease counts as 0: the kernel's idle times decrease at times, and a device may have
// been replaced.
func (p *points) counter(name string, v float64, labels ...string) {
	series := metric.Of(name, labels...)
	key := series.Key()
	p.now[key] = v
	if before, ok := p.last[key]; ok {
		p.all = append(p.all, metric.CounterPoint(series, max(0, v-before)))
	}
}

func (c *Collector) read(ctx context.Context) []metric.Point {
	p := &points{last: c.last, now: make(map[string]float64, len(c.last))}
	c.cpu(p)
	c.pressure(p)
	c.memory(p)
	c.disks(p)
	c.network(p)
	c.processes(p)
	now := time.Now()
	c.stops.points(p, now.Sub(c.at).Seconds())
	c.at = now
	c.trips.points(p)
	c.trips.start(ctx)
	c.last = p.now
	return p.all
}

// sector is the unit of /proc/diskstats on every device.
const sector = 512

const kibibyte = 1024

// cpu reports the machine's CPU time by mode. Guests' time is included in user and
// nice.
func (c *Collector) cpu(p *points) {
	p.gauge(metric.HostCPUs, float64(cpus()))
	stat, err := c.proc.Stat()
	if err != nil {
		c.idle = idleTimes{}
		return
	}
	c.idle.read(stat.CPU)
	t := stat.CPUTotal
	for _, m := range []struct {
		mode string
		time float64 // s
	}{
		{"user", t.User},
		{"nice", t.Nice},
		{"system", t.System},
		{"idle", t.Idle},
		{"iowait", t.Iowait},
		{"irq", t.IRQ},
		{"softirq", t.SoftIRQ},
		{"steal", t.Steal},
	} {
		p.counter(metric.HostCPU, m.time, "mode", m.mode)
	}
}

// read adds a reading. Time spent waiting for a disk (iowait) counts as idle, because
// other processes can use the CPU.
func (i *idleTimes) read(cpus map[int64]procfs.CPUStat) {
	total, increase := make(map[int64]float64, len(cpus)), make(map[int64]float64, len(cpus))
	for cpu, t := range cpus {
		total[cpu] = t.Idle + t.Iowait
		if before, ok := i.total[cpu]; ok {
			increase[cpu] = max(0, total[cpu]-before)
		}
	}
	i.total, i.increase = total, increase
}

// of returns the idle time between the last two readings of all CPUs that a process may
// use, in s.
func (i *idleTimes) of(pid int) (total float64) {
	set, err := affinity(pid)
	for cpu, v := range i.increase {
		if err != nil || set.IsSet(int(cpu)) {
			total += v
		}
	}
	return total
}

func cpus() int { return allowed(0) }

// allowed returns the number of CPUs that a process may use; pid 0 is this process.
func allowed(pid int) int {
	set, err := affinity(pid)
	if err != nil {
		return runtime.NumCPU()
	}
	return set.Count()
}

// affinity returns the set of CPUs that a process may use. It fails on machines with more
// CPUs than the set can hold.
func affinity(pid int) (set unix.CPUSet, err error) {
	err = unix.SchedGetaffinity(pid, &set)
	return set, err
}

func (c *Collector) memory(p *points) {
	if m, err := c.proc.Meminfo(); err == nil && m.MemAvailable != nil {
		p.gauge(metric.HostMemoryAvailable, float64(*m.MemAvailable)*kibibyte)
	}
}

// disks reports the physical disks or, if none is visible (as in a container), all
// devices. Partitions and logical volumes would count the same bytes again.
func (c *Collector) disks(p *points) {
	all, err := c.block.ProcDiskstats()
	if err != nil {
		return
	}
	var hardware []string
	for _, d := range all {
		if physical("/sys/block", d.DeviceName) {
			hardware = append(hardware, d.DeviceName)
		}
	}
	for _, d := range all {
		if !included(hardware, d.DeviceName) || virtualDisk(d.DeviceName) {
			continue
		}
		p.counter(metric.HostDiskRead, float64(d.ReadSectors)*sector, "device", d.DeviceName)
		p.counter(metric.HostDiskWritten, float64(d.WriteSectors)*sector, "device", d.DeviceName)
		p.counter(metric.HostDiskBusy, float64(d.IOsTotalTicks), "device", d.DeviceName)
	}
}

func virtualDisk(name string) bool {
	prefixes := []string{"loop", "ram", "zram", "dm-", "md", "sr", "fd"}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// network reports loopback, and the sum of the physical interfaces or, if none is visible,
// of all other interfaces. Bridges and tunnels would count the same bytes again.
func (c *Collector) network(p *points) {
	all, err := c.proc.NetDev()
	if err != nil {
		return
	}
	var hardware []string
	for name := range all {
		if physical("/sys/class/net", name) {
			hardware = append(hardware, name)
		}
	}
	var received, sent float64
	for name, line := range all {
		if name == "lo" {
			p.counter(metric.HostNetReceived, float64(line.RxBytes), "interface", "loopback")
			p.counter(metric.HostNetSent, float64(line.TxBytes), "interface", "loopback")
		} else if included(hardware, name) {
			received += float64(line.RxBytes)
			sent += float64(line.TxBytes)
		}
	}
	p.counter(metric.HostNetReceived, received, "interface", "external")
	p.counter(metric.HostNetSent, sent, "interface", "external")
}

// physical reports whether a device of this class is hardware.
func physical(class, name string) bool {
	_, err := os.Stat(filepath.Join(class, name, "device"))
	return err == nil
}

// included reports whether a device is reported: if it is hardware, or if no device is.
func included(hardware []string, name string) bool {
	return len(hardware) == 0 || slices.Contains(hardware, name)
}

// pressure reports pressure stall information, if the kernel records it
// (Documentation/accounting/psi.rst). For the whole machine "full" is undefined for the
// CPU; the kernel shows 0.
func (c *Collector) pressure(p *points) {
	for _, resource := range []string{"cpu", "io", "memory"} {
		stats, err := c.proc.PSIStatsForResource(resource)
		if err != nil {
			continue
		}
		if stats.Some != nil {
			p.counter(metric.HostPressure, seconds(stats.Some.Total), "resource", resource, "kind", "some")
		}
		if stats.Full != nil && resource != "cpu" {
			p.counter(metric.HostPressure, seconds(stats.Full.Total), "resource", resource, "kind", "full")
		}
	}
}

func seconds(micros uint64) float64 { return (time.Duration(micros) * time.Microsecond).Seconds() }
