package host

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/observe/collect/quota"
	"assay.dev/assay/internal/observe/record"
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

// cgroupFiles names the memory files of a cgroup version, and the field of memory.stat
// with inactive files.
type cgroupFiles struct{ base, limit, used, inactive string }

var (
	cgroup2 = cgroupFiles{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"}
	cgroup1 = cgroupFiles{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
)

// cgroupMemory is the memory in bytes that the limits of this process's cgroups, version
// 2 or 1, leave free: the minimum of all; not ok if there is no limit. Inactive file
// pages count as free, since the kernel reclaims them first. root is "/", except in
// tests.
func cgroupMemory(root string) (left int64, ok bool) {
	proc, err := procfs.NewFS(filepath.Join(root, "proc"))
	if err != nil {
		return 0, false
	}
	self, err := proc.Self()
	if err != nil {
		return 0, false
	}
	quota.Groups(root, self.PID, "memory", func(version int, group string) {
		files := cgroup1
		if version == 2 {
			files = cgroup2
		}
		// A limit applies to all descendants too. In a container the path may be the
		// host's: then the root of the mounted hierarchy is this process's cgroup.
		quota.Ancestors(group, func(dir string) {
			if free, found := files.free(filepath.Join(root, files.base, dir)); found && (!ok || free < left) {
				left, ok = free, true
			}
		})
	})
	return left, ok
}

// unlimited is a lower bound of the value that means "no limit" in version 1, and more
// than any machine has.
const unlimited = 1 << 60

// free is the memory that the limit of one cgroup leaves; not ok if it has none.
func (f cgroupFiles) free(dir string) (int64, bool) {
	limit, err := number(filepath.Join(dir, f.limit))
	if err != nil || limit >= unlimited {
		return 0, false
	}
	used, err := number(filepath.Join(dir, f.used))
	if err != nil {
		return 0, false
	}
	stat, _ := os.ReadFile(filepath.Join(dir, "memory.stat")) // optional: without it inactive files count as used
	for line := range strings.Lines(string(stat)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == f.inactive {
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				used -= n
			}
		}
	}
	return max(0, limit-max(0, used)), true
}

// number reads a file with one number. "max" is an error.
func number(path string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// Describe returns a description of this machine. Fields that cannot be read are
// empty.
func Describe() record.Host {
	h := record.Host{OS: system("/etc/os-release"), CPU: runtime.GOARCH, CPUs: cpus()}
	h.Name, _ = os.Hostname()
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		h.Kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	}
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return h
	}
	// Not every architecture has model names.
	if info, err := proc.CPUInfo(); err == nil && len(info) > 0 && info[0].ModelName != "" {
		h.CPU = info[0].ModelName
	}
	if m, err := proc.Meminfo(); err == nil && m.MemTotal != nil {
		h.Memory = int64(*m.MemTotal) * kibibyte
	}
	return h
}

// system returns the distribution's name from a file in the format of os-release(5).
func system(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return runtime.GOOS
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "PRETTY_NAME="); ok {
			return strings.Trim(name, `"'`)
		}
	}
	return runtime.GOOS
}
