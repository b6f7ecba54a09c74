package quota

import (
	"path"
	"path/filepath"
	"slices"
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
	fs, err := procfs.NewFS(filepath.Join(m.root, "proc"))
	if err != nil {
		return
	}
	proc, err := fs.Proc(m.pid)
	if err != nil {
		return // it has ended
	}
	all, err := proc.Cgroups()
	if err != nil {
		return
	}
	for _, group := range all {
		version := 1
		switch {
		case group.HierarchyID == 0:
			version = 2
		case !slices.Contains(group.Controllers, "cpu"):
			continue
		}
		for _, at := range m.mounts {
			relative, ok := relativePath(at.root, group.Path)
			if at.version != version || !ok {
				continue
			}
			for dir := relative; ; dir = path.Dir(dir) {
				visit(version, filepath.Join(m.root, at.point, dir))
				if dir == "/" {
					break
				}
			}
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
