package probe

import (
	"fmt"
	"os"
	"runtime"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Machine is this machine, as far as a process of ours may use it.
type Machine struct {
	Descriptors uint64 // a process may hold; 0: not known
	CPUs        int    // that a process may use, by affinity and quota
	Memory      int64  // bytes available, within the cgroup's limit; 0: not known
	Ports       Ports
}

// Ports are the local ports that connections to one address may take.
type Ports struct {
	Low, High int // of the range; 0: not known
	Taken     int // by connections to the target: open, or closed a moment ago
}

// LookAtMachine reads the limits of this process, which workers inherit.
func LookAtMachine() Machine {
	// The runtime's default knows affinity and the cgroup's quota (Go 1.25).
	m := Machine{CPUs: runtime.GOMAXPROCS(0), Memory: availableMemory()}
	var limit unix.Rlimit
	// Go has raised the soft limit to the hard one; a worker does it too.
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil {
		m.Descriptors = limit.Cur
	}
	m.Ports.Low, m.Ports.High = portRange("/proc/sys/net/ipv4/ip_local_port_range")
	return m
}

func portRange(path string) (low, high int) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, 0
	}
	if _, err := fmt.Sscan(string(text), &low, &high); err != nil || low > high {
		return 0, 0
	}
	return low, high
}

const kibibyte = 1024

func availableMemory() int64 {
	free := int64(0)
	if proc, err := procfs.NewDefaultFS(); err == nil {
		if m, err := proc.Meminfo(); err == nil && m.MemAvailable != nil {
			free = int64(*m.MemAvailable) * kibibyte
		}
	}
	if left, ok := cgroupMemory(os.DirFS("/")); ok && (free == 0 || left < free) {
		free = left
	}
	return free
}
