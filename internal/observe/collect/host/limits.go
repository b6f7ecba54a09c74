package host

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Limits is what a process may use on this machine.
type Limits struct {
	Descriptors uint64 // limit on open files; 0: unknown
	CPUs        int    // by affinity and quota
	Memory      int64  // bytes available, within the limits of the cgroup and of a process; negative: unknown
}

// ReadLimits reads the limits of this process, which its children inherit.
func ReadLimits() Limits {
	// GOMAXPROCS respects affinity and, since Go 1.25, the cgroup's quota.
	l := Limits{CPUs: runtime.GOMAXPROCS(0), Memory: availableMemory("/")}
	if left, ok := limitedMemory(); ok && (l.Memory < 0 || left < l.Memory) {
		l.Memory = left
	}
	var limit unix.Rlimit
	// The Go runtime has raised the soft limit to the hard limit, as it does in a worker.
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil {
		l.Descriptors = limit.Cur
	}
	return l
}

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

// limitedMemory is what the limits on the address space and the data of this process
// (ulimit -v and -d) leave to it, in bytes; not ok if there are none. A worker takes as much
// as this process when it starts.
func limitedMemory() (left int64, ok bool) {
	self, err := procfs.Self()
	if err != nil {
		return 0, false
	}
	status, err := self.NewStatus()
	if err != nil {
		return 0, false
	}
	left = math.MaxInt64
	for resource, used := range map[int]uint64{unix.RLIMIT_AS: status.VmSize, unix.RLIMIT_DATA: status.VmData} {
		var limit unix.Rlimit
		if err := unix.Getrlimit(resource, &limit); err == nil && limit.Cur != unix.RLIM_INFINITY {
			left, ok = min(left, int64(limit.Cur)-int64(used)), true
		}
	}
	return max(0, left), ok
}

// Boot identifies the kernel since its boot: it is the same for all containers of a
// machine. It is empty if it cannot be read.
func Boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// Namespace identifies the namespace of this process's id: two processes with the same
// one see each other's ids. It is empty if it cannot be read.
func Namespace() string {
	ids, err := os.Readlink("/proc/self/ns/pid")
	if boot := Boot(); err == nil && boot != "" {
		return boot + " " + ids
	}
	return ""
}
