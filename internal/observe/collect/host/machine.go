package host

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/observe/metric"
)

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

// cpus returns the number of CPUs that this process may use now.
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
	for _, prefix := range []string{"loop", "ram", "zram", "dm-", "md", "sr", "fd"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
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
