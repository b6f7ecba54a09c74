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

// Period is that of every quota: the kernel's default.
const Period = 100 * time.Millisecond

// Group is a cgroup.
type Group struct {
	t   testing.TB
	dir string
	set func(share float64) error
}

// Make makes a cgroup whose processes may use that share of one CPU. At the end of
// the test they return to the root cgroup, and it is removed. Not ok where this
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
		t.Logf("no quota by this version of cgroups: %v", err)
	}
	return nil, false
}

// version2 is for a machine with version 2 only, such as Debian's, or with the CPU
// controller in it.
func version2(name string) (*Group, error) {
	const root = "/sys/fs/cgroup"
	// systemd leaves the controller off until a unit asks for it. It stays on:
	// another test may use it, and by itself it changes nothing.
	if err := write(root, "cgroup.subtree_control", "+cpu"); err != nil {
		return nil, err
	}
	g := &Group{dir: filepath.Join(root, name)}
	g.set = func(share float64) error {
		return write(g.dir, "cpu.max", fmt.Sprintf("%d %d", micros(share), Period.Microseconds()))
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
		if err := write(g.dir, "cpu.cfs_period_us", fmt.Sprint(Period.Microseconds())); err != nil {
			return err
		}
		return write(g.dir, "cpu.cfs_quota_us", fmt.Sprint(micros(share)))
	}
	return g, os.Mkdir(g.dir, 0o755)
}

func micros(share float64) int64 { return int64(share * float64(Period.Microseconds())) }

// write does not create the file: where it is missing this is no cgroup.
func write(dir, name, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Put puts a process into the group, with all its threads.
func (g *Group) Put(pid int) {
	g.t.Helper()
	if err := write(g.dir, "cgroup.procs", fmt.Sprint(pid)); err != nil {
		g.t.Errorf("move process %d into the cgroup: %v", pid, err)
	}
}

// Set changes the share.
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
	for range 50 { // a process that is just ending is still in it
		if err = os.Remove(g.dir); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	g.t.Errorf("the cgroup is not removed: %v", err)
}
