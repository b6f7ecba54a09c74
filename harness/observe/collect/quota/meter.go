package quota

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
)

// Meter reads one process. It is not safe for concurrent use.
type Meter struct {
	root   string // "/", except in tests
	pid    int
	mounts []mount
	groups map[string]*group // cgroups with a quota at the last reading, by folder
}

// mount is the mount point of a hierarchy of cgroups that may have quotas.
type mount struct {
	version int
	root    string // the cgroup that is mounted
	point   string
}

// group is a cgroup with a quota.
type group struct {
	first    usage
	reported float64 // s, since the first
}

// New makes the meter of a process.
func New(pid int) *Meter { return newMeter("/", pid) }

func newMeter(root string, pid int) *Meter {
	m := &Meter{root: root, pid: pid}
	fs, err := procfs.NewFS(filepath.Join(root, "proc"))
	if err != nil {
		return m // without /proc every reading fails
	}
	all, _ := fs.GetMounts() // likewise
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

// Read returns the time for which a quota has throttled the process since the last
// reading, in s: of several nested quotas the longest. Not ok where it has no quota,
// nothing can be read, or this is the first reading.
func (m *Meter) Read() (seconds float64, ok bool) {
	groups := map[string]*group{}
	m.each(func(version int, dir string) {
		now, has := read(version, dir)
		if !has {
			return
		}
		g := m.groups[dir]
		if g == nil || now.throttled < g.first.throttled { // or a new group of that name
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

// each visits the cgroups that the process is in, from its own upwards.
func (m *Meter) each(visit func(version int, dir string)) {
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
	for _, own := range all {
		version := 1
		switch {
		case own.HierarchyID == 0:
			version = 2
		case !slices.Contains(own.Controllers, "cpu"):
			continue
		}
		for _, at := range m.mounts {
			within, ok := below(at.root, own.Path)
			if at.version != version || !ok {
				continue
			}
			for dir := within; ; dir = path.Dir(dir) {
				visit(version, filepath.Join(m.root, at.point, dir))
				if dir == "/" {
					break
				}
			}
		}
	}
}

// below is a cgroup's path from the mounted one; not ok where it is outside, as
// another container's is.
func below(mounted, group string) (string, bool) {
	if strings.HasPrefix(group, "/..") {
		return "", false
	}
	rest, ok := strings.CutPrefix(group, strings.TrimSuffix(mounted, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return path.Join("/", rest), true
}
