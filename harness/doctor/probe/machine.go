package probe

import (
	"path/filepath"
	"runtime"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Machine is the resources of this machine that a process may use.
type Machine struct {
	Descriptors uint64 // limit on open files; 0: unknown
	CPUs        int    // by affinity and quota
	Memory      int64  // bytes available, within the cgroup's limit; negative: unknown
	Ports       Ports
}

// Ports are the local ports for connections to one address.
type Ports struct {
	Low, High int // of the range; 0: unknown
	Taken     int // by connections to the target, open or in TIME_WAIT
}

// ExamineMachine reads the limits of this process, which workers inherit.
func ExamineMachine() Machine {
	// GOMAXPROCS respects affinity and, since Go 1.25, the cgroup's quota.
	m := Machine{CPUs: runtime.GOMAXPROCS(0), Memory: availableMemory("/")}
	var limit unix.Rlimit
	// The Go runtime has raised the soft limit to the hard limit, as it does in a worker.
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil {
		m.Descriptors = limit.Cur
	}
	if proc, err := procfs.NewDefaultFS(); err == nil {
		m.Ports.Low, m.Ports.High = portRange(proc)
	}
	return m
}

func portRange(proc procfs.FS) (low, high int) {
	ends, err := proc.SysctlInts("net/ipv4/ip_local_port_range")
	if err != nil || len(ends) != 2 || ends[0] > ends[1] {
		return 0, 0
	}
	return ends[0], ends[1]
}

const kibibyte = 1024

// availableMemory is in bytes, and negative if it is unknown: 0 is a cgroup at its limit.
// root is "/", except in tests.
func availableMemory(root string) int64 {
	free := int64(-1)
	if proc, err := procfs.NewFS(filepath.Join(root, "proc")); err == nil {
		if m, err := proc.Meminfo(); err == nil && m.MemAvailable != nil {
			free = int64(*m.MemAvailable) * kibibyte
		}
	}
	if left, ok := cgroupMemory(root); ok && (free < 0 || left < free) {
		free = left
	}
	return free
}
