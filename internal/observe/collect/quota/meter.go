package quota

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// Meter measures the throttling of one process. It is not safe for concurrent use.
type Meter struct {
	root   string // "/", except in tests
	pid    int
	mounts []mount
	groups map[string]*group // cgroups with a quota at the last reading, by folder
}

// mount is a mounted cgroup hierarchy that may have quotas.
type mount struct {
	version int
	root    string // path of the mounted cgroup in the hierarchy
	point   string // mount point
}

// group is a cgroup with a quota.
type group struct {
	first    usage   // at the first reading
	reported float64 // s, throttled since the first reading
}

// New returns a meter for a process.
func New(pid int) *Meter { return newMeter("/", pid) }

func newMeter(root string, pid int) *Meter {
	m := &Meter{root: root, pid: pid}
	fs, err := procfs.NewFS(filepath.Join(root, "proc"))
	if err != nil {
		return m // without /proc every reading fails
	}
	all, _ := fs.GetMounts() // without mounts every reading fails
	for _, i := range all {
		_, cpu := i.SuperOptions["cpu"]
		switch {
		case i.FSType == "cgroup2":
			m.mounts = append(m.mounts, mount{2, i.Root, i.MountPoint})
		case i.FSType == "cgroup" && cpu:
			m.mounts = append(m.mounts, mount{1, i.Root, i.MountPoint})
		}
	}
	return m
}

// Read returns for how long, in s, a quota has throttled the process since the last
// reading: the longest time if several nested cgroups have quotas. It returns false if
// there is no quota, if nothing can be read, or if this is the first reading.
func (m *Meter) Read() (seconds float64, ok bool) {
	groups := map[string]*group{}
	m.visitGroups(func(version int, dir string) {
		now, has := read(version, dir)
		if !has {
			return
		}
		g := m.groups[dir]
		if g == nil || now.throttled < g.first.throttled { // or this is a new group of the same name
			groups[dir] = &group{first: now}
			return
		}
		groups[dir] = g
		throttled := now.since(g.first)
		seconds, ok = max(seconds, throttled-g.reported), true
		g.reported = max(g.reported, throttled)
	})
	m.groups = groups
	return seconds, ok
}

// visitGroups visits the cgroups of the process and their ancestors.
func (m *Meter) visitGroups(visit func(version int, dir string)) {
	Groups(m.root, m.pid, "cpu", func(version int, group string) {
		for _, at := range m.mounts {
			if relative, ok := relativePath(at.root, group); ok && at.version == version {
				Ancestors(relative, func(dir string) { visit(version, filepath.Join(m.root, at.point, dir)) })
			}
		}
	})
}

// Groups visits the paths of a process's cgroups that control a resource, in hierarchies of
// version 1 or 2. root is "/", except in tests. A process that has ended has none.
func Groups(root string, pid int, controller string, visit func(version int, group string)) {
	fs, err := procfs.NewFS(filepath.Join(root, "proc"))
	if err != nil {
		return
	}
	proc, err := fs.Proc(pid)
	if err != nil {
		return
	}
	all, _ := proc.Cgroups()
	for _, group := range all {
		switch {
		case group.HierarchyID == 0:
			visit(2, group.Path)
		case slices.Contains(group.Controllers, controller):
			visit(1, group.Path)
		}
	}
}

// Ancestors visits a path and those above it, up to /.
func Ancestors(group string, visit func(dir string)) {
	for dir := path.Join("/", group); ; dir = path.Dir(dir) {
		visit(dir)
		if dir == "/" {
			return
		}
	}
}

// relativePath returns a cgroup's path relative to the mounted one; false if it is outside
// of it, like the cgroup of another container.
func relativePath(mounted, group string) (string, bool) {
	if strings.HasPrefix(group, "/..") {
		return "", false
	}
	rest, ok := strings.CutPrefix(group, strings.TrimSuffix(mounted, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return path.Join("/", rest), true
}

// usage holds the kernel's counters of a cgroup with a quota.
type usage struct {
	throttled float64 // s, the sum over all CPUs
	periods   float64 // number of periods in which the group was throttled
	length    float64 // length of a period, s
}

// since returns for how long, in s, the group was throttled since first. The kernel adds
// up the times of all CPUs: throttled on two CPUs for one second counts as two seconds. So
// the result is limited to the length of the periods in which the group was throttled.
func (u usage) since(first usage) float64 {
	return max(0, min(u.throttled-first.throttled, (u.periods-first.periods)*u.length))
}

// read reads the files of a cgroup; false if it has no quota (kernel:
// Documentation/admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst).
func read(version int, dir string) (u usage, ok bool) {
	quota, period := limits(version, dir)
	limit, limited := number(quota)
	length, known := number(period)
	if !limited || limit <= 0 || !known { // no quota: "max", or -1
		return u, false
	}
	text, err := os.ReadFile(filepath.Join(dir, "cpu.stat"))
	if err != nil {
		return u, false
	}
	u.length = length / 1e6
	counted := 0
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		v, isNumber := number(value)
		if !isNumber {
			continue
		}
		switch name {
		case "nr_throttled":
			u.periods = v
		case "throttled_usec": // version 2
			u.throttled = v / 1e6
		case "throttled_time": // version 1
			u.throttled = v / 1e9
		default:
			continue
		}
		counted++
	}
	return u, counted == 2
}

// limits reads a quota and its period, in us.
func limits(version int, dir string) (quota, period string) {
	if version == 1 {
		limit, _ := os.ReadFile(filepath.Join(dir, "cpu.cfs_quota_us"))
		length, _ := os.ReadFile(filepath.Join(dir, "cpu.cfs_period_us"))
		return string(limit), string(length)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "cpu.max")) // the root cgroup has no such file
	quota, period, _ = strings.Cut(strings.TrimSpace(string(text)), " ")
	return quota, period
}

func number(text string) (float64, bool) {
	v, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return float64(v), err == nil
}
