package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// All limits can be read on this machine.
func TestLimits(t *testing.T) {
	if l := ReadLimits(); l.Descriptors == 0 || l.CPUs < 1 || l.Memory <= 0 {
		t.Errorf("%+v", l)
	}
	if Namespace() == "" {
		t.Error("the kernel is not identified")
	}
}

// The limit on the address space of a process (ulimit -v) counts as well.
func TestLimitedMemory(t *testing.T) {
	self, err := procfs.Self()
	if err != nil {
		t.Fatal(err)
	}
	status, err := self.NewStatus()
	if err != nil {
		t.Fatal(err)
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &before); err != nil {
		t.Fatal(err)
	}
	const left = 1 << 30
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: status.VmSize + left, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	limits := ReadLimits()
	if err := unix.Setrlimit(unix.RLIMIT_AS, &before); err != nil {
		t.Fatal(err)
	}
	if limits.Memory < left/2 || limits.Memory > left {
		t.Errorf("%d bytes are left, want at most %d", limits.Memory, left)
	}
}

// tree makes files in a temporary root folder, and its /proc/self.
func tree(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "proc", "7"), 0o755), os.Symlink("7", filepath.Join(root, "proc", "self"))); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestCgroupMemory(t *testing.T) {
	files := func(pairs ...string) map[string]string {
		all := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i]] = pairs[i+1]
		}
		return all
	}
	for name, c := range map[string]struct {
		files map[string]string
		left  int64
		ok    bool
	}{
		"none": {files(), 0, false},
		"version 2, no limit": {files("proc/7/cgroup", "0::/a\n",
			"sys/fs/cgroup/a/memory.max", "max\n", "sys/fs/cgroup/a/memory.current", "10\n"), 0, false},
		"version 2, of a parent": {files("proc/7/cgroup", "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max", "max\n", "sys/fs/cgroup/a/b/memory.current", "10\n",
			"sys/fs/cgroup/a/memory.max", "100\n", "sys/fs/cgroup/a/memory.current", "70\n", "sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 20\n"), 50, true},
		"version 2, in a container": {files("proc/7/cgroup", "0::/\n",
			"sys/fs/cgroup/memory.max", "100\n", "sys/fs/cgroup/memory.current", "30\n"), 70, true},
		"version 1": {files("proc/7/cgroup", "9:cpu:/\n4:memory:/x\n0::/\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes", "100\n", "sys/fs/cgroup/memory/x/memory.usage_in_bytes", "40\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n", "sys/fs/cgroup/memory/memory.usage_in_bytes", "40\n"), 60, true},
		"version 1, path of the host": {files("proc/7/cgroup", "4:memory:/docker/id\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes", "100\n", "sys/fs/cgroup/memory/memory.usage_in_bytes", "140\n"), 0, true},
		"malformed": {files("proc/7/cgroup", "what\n0::/\n", "sys/fs/cgroup/memory.max", "many\n"), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if left, ok := cgroupMemory(tree(t, c.files)); left != c.left || ok != c.ok {
				t.Errorf("%d, %t, want %d, %t", left, ok, c.left, c.ok)
			}
		})
	}
}

func TestAvailableMemory(t *testing.T) {
	const meminfo = "MemAvailable: 2 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"unknown":    {nil, -1},
		"no limit":   {map[string]string{"proc/meminfo": meminfo}, 2048},
		"limit only": {map[string]string{"proc/7/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "100\n", "sys/fs/cgroup/memory.current": "30\n"}, 70},
		"limit above the machine's memory": {map[string]string{
			"proc/meminfo": meminfo, "proc/7/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "9000\n", "sys/fs/cgroup/memory.current": "30\n",
		}, 2048},
		"cgroup at its limit": {map[string]string{
			"proc/meminfo": meminfo, "proc/7/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "100\n", "sys/fs/cgroup/memory.current": "100\n",
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := availableMemory(tree(t, c.files)); got != c.want {
				t.Errorf("%d bytes, want %d", got, c.want)
			}
		})
	}
}
