package quotatest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Period is the period of every quota, the kernel's default.
const Period = 100 * time.Millisecond

// Group is a cgroup with a CPU quota.
type Group struct {
	t   testing.TB
	dir string
	set func(share float64) error
}

// Make creates a cgroup whose processes may use this share of one CPU. At the end of the
// test it moves them to the parent cgroup and removes the cgroup. It returns false if this
// machine does not allow it: not root, a container, no CPU controller.
func Make(t testing.TB, share float64) (*Group, bool) {
	t.Helper()
	for _, kind := range []func(name string) (*Group, error){version2, version1} {
		g, err := kind(fmt.Sprintf("assay-test-%d-%d", os.Getpid(), time.Now().UnixNano()))
		if err == nil {
			if err = g.set(share); err == nil {
				g.t = t
				t.Cleanup(g.remove)
				return g, true
			}
			g.t = t
			g.remove()
		}
		t.Logf("no quota with this cgroup version: %v", err)
	}
	return nil, false
}

// version2 creates a cgroup of version 2, if the CPU controller belongs to that hierarchy
// as on Debian.
func version2(name string) (*Group, error) {
	const root = "/sys/fs/cgroup"
	// systemd does not enable the controller until a unit needs it. It stays enabled:
	// another test may use it, and on its own it has no effect.
	if err := write(root, "cgroup.subtree_control", "+cpu"); err != nil {
		return nil, err
	}
	g := &Group{dir: filepath.Join(root, name)}
	g.set = func(share float64) error {
		return errors.Join(
			write(g.dir, "cpu.weight", fmt.Sprint(weight(share, 100, 10000))),
			write(g.dir, "cpu.max", fmt.Sprintf("%d %d", micros(share), Period.Microseconds())),
		)
	}
	return g, os.Mkdir(g.dir, 0o755)
}

func version1(name string) (*Group, error) {
	const root = "/sys/fs/cgroup/cpu"
	if _, err := os.Stat(filepath.Join(root, "cpu.cfs_quota_us")); err != nil {
		return nil, err
	}
	g := &Group{dir: filepath.Join(root, name)}
	g.set = func(share float64) error {
		return errors.Join(
			write(g.dir, "cpu.shares", fmt.Sprint(weight(share, 1024, 262144))),
			write(g.dir, "cpu.cfs_period_us", fmt.Sprint(Period.Microseconds())),
			write(g.dir, "cpu.cfs_quota_us", fmt.Sprint(micros(share))),
		)
	}
	return g, os.Mkdir(g.dir, 0o755)
}

// weight is the largest for a group that may use a part of a CPU: otherwise the group
// would not use up its quota next to other busy processes, and would not be throttled.
// With a CPU or more the largest weight would take it from all other processes.
func weight(share float64, normal, largest int) int {
	if share < 1 {
		return largest
	}
	return normal
}

func micros(share float64) int64 { return int64(share * float64(Period.Microseconds())) }

// write writes to an existing file. If it is missing, dir is not a cgroup.
func write(dir, name, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Put moves a process with all its threads into the group.
func (g *Group) Put(pid int) {
	g.t.Helper()
	if err := write(g.dir, "cgroup.procs", fmt.Sprint(pid)); err != nil {
		g.t.Errorf("move process %d into the cgroup: %v", pid, err)
	}
}

// Set changes the quota to this share of one CPU.
func (g *Group) Set(share float64) {
	g.t.Helper()
	if err := g.set(share); err != nil {
		g.t.Errorf("change a quota: %v", err)
	}
}

func (g *Group) remove() {
	pids, _ := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	for _, pid := range strings.Fields(string(pids)) {
		_ = write(filepath.Dir(g.dir), "cgroup.procs", pid) // it may have ended
	}
	var err error
	for range 50 { // an ending process is still in the group
		if err = os.Remove(g.dir); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	g.t.Errorf("remove the cgroup: %v", err)
}
