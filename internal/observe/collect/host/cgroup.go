package host

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

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
	groups, err := self.Cgroups()
	if err != nil {
		return 0, false
	}
	for _, g := range groups {
		files := cgroup1
		switch {
		case g.HierarchyID == 0:
			files = cgroup2
		case !slices.Contains(g.Controllers, "memory"):
			continue
		}
		// A limit applies to all descendants too. In a container the path may be the
		// host's: then the root of the mounted hierarchy is this process's cgroup.
		for dir := filepath.Join("/", g.Path); ; dir = filepath.Dir(dir) {
			if free, found := files.free(filepath.Join(root, files.base, dir)); found && (!ok || free < left) {
				left, ok = free, true
			}
			if dir == "/" {
				break
			}
		}
	}
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
