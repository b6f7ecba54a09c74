package probe

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// cgroupMemory is what the cgroups of this process leave of their memory
// limits, the least of them, by version 2 or 1; not ok where there is none.
// What the kernel would drop first, inactive files, counts as left.
func cgroupMemory(root fs.FS) (left int64, ok bool) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, limit, used, inactive := "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"
		switch parts[1] {
		case "": // version 2
		case "memory":
			base, limit, used, inactive = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
		default:
			continue
		}
		// A limit holds for all below it. In a container the path may be the
		// host's: then the root of what is mounted is ours.
		for dir := path.Join("/", parts[2]); ; dir = path.Dir(dir) {
			at := path.Join(base, dir)
			if free, found := room(root, path.Join(at, limit), path.Join(at, used), path.Join(at, "memory.stat"), inactive); found && (!ok || free < left) {
				left, ok = free, true
			}
			if dir == "/" {
				break
			}
		}
	}
	return left, ok
}

// unlimited is what version 1 writes for "no limit", and more than any machine
// has.
const unlimited = 1 << 60

func room(root fs.FS, limit, used, stat, inactive string) (int64, bool) {
	most, err := number(root, limit)
	if err != nil || most >= unlimited {
		return 0, false
	}
	taken, err := number(root, used)
	if err != nil {
		return 0, false
	}
	lines, _ := fs.ReadFile(root, stat) // without it nothing is known to be inactive
	for line := range strings.Lines(string(lines)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == inactive {
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				taken -= n
			}
		}
	}
	return max(0, most-max(0, taken)), true
}

// number reads a file of one number; "max" is none.
func number(root fs.FS, name string) (int64, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}
