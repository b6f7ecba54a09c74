package quota

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// machine is a file tree of /proc and cgroups with one process, whose id is 7.
type machine struct {
	t    *testing.T
	root string
}

func newMachine(t *testing.T, groups string, mounts ...string) machine {
	t.Helper()
	m := machine{t, t.TempDir()}
	m.write("proc/self/mountinfo", strings.Join(mounts, "\n")+"\n")
	m.write("proc/7/cgroup", groups)
	return m
}

func (m machine) write(name, text string) {
	m.t.Helper()
	path := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// version2 writes a cgroup of version 2 with its throttled time and periods.
func (m machine) version2(dir, quota string, usec, periods int) {
	m.write(dir+"/cpu.max", quota+" 100000\n")
	m.write(dir+"/cpu.stat", fmt.Sprintf("usage_usec 5\nnr_periods 100\nnr_throttled %d\nthrottled_usec %d\n", periods, usec))
}

// version1 writes a cgroup of version 1 with its throttled time and periods.
func (m machine) version1(dir, quota string, nsec, periods int) {
	m.write(dir+"/cpu.cfs_quota_us", quota+"\n")
	m.write(dir+"/cpu.cfs_period_us", "100000\n")
	m.write(dir+"/cpu.stat", fmt.Sprintf("nr_periods 100\nnr_throttled %d\nthrottled_time %d\n", periods, nsec))
}

// Lines of mountinfo as the kernel writes them.
const (
	pure      = "24 1 0:22 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate"
	unified   = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"
	cpuOnly   = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct"
	memory    = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
	container = "32 31 0:29 /docker/ab /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu"
)

func TestRead(t *testing.T) {
	const base2, base1 = "sys/fs/cgroup", "sys/fs/cgroup/cpu,cpuacct"
	none := math.NaN()
	for name, tt := range map[string]struct {
		groups        string
		mounts        []string
		before, after func(m machine)
		want          float64 // none: no data
	}{
		"version 2": {
			"0::/a.slice/b\n",
			[]string{pure},
			func(m machine) { m.version2(base2+"/a.slice/b", "50000", 1_000_000, 10) },
			func(m machine) { m.version2(base2+"/a.slice/b", "50000", 1_400_000, 16) }, 0.4,
		},
		"never throttled": {
			"0::/b\n",
			[]string{pure},
			func(m machine) { m.version2(base2+"/b", "50000", 0, 0) },
			func(machine) {}, 0,
		},
		"no quota": {
			"0::/b\n",
			[]string{pure},
			func(m machine) { m.version2(base2+"/b", "max", 0, 0) },
			func(machine) {}, none,
		},
		"the parent's quota throttled it longer": {
			"0::/a/b\n",
			[]string{pure},
			func(m machine) {
				m.version2(base2+"/a/b", "50000", 9_000_000, 90)
				m.version2(base2+"/a", "20000", 0, 0)
			},
			func(m machine) {
				m.version2(base2+"/a/b", "50000", 9_100_000, 91)
				m.version2(base2+"/a", "20000", 300_000, 5)
			}, 0.3,
		},
		"version 1": {
			"4:memory:/x\n2:cpu,cpuacct:/a\n0::/b\n",
			[]string{memory, cpuOnly, unified},
			func(m machine) {
				m.version1(base1+"/a", "20000", 0, 0)
				m.version2("sys/fs/cgroup/unified/b", "max", 0, 0)
			},
			func(m machine) { m.version1(base1+"/a", "20000", 700_000_000, 9) }, 0.7,
		},
		"version 1, no quota": {
			"2:cpu,cpuacct:/a\n",
			[]string{cpuOnly},
			func(m machine) { m.version1(base1+"/a", "-1", 0, 0) },
			func(machine) {}, none,
		},
		// Two CPUs throttled for 0.8 s each: at most the length of the 10 periods.
		"two CPUs": {
			"0::/b\n",
			[]string{pure},
			func(m machine) { m.version2(base2+"/b", "20000", 0, 0) },
			func(m machine) { m.version2(base2+"/b", "20000", 1_600_000, 10) }, 1,
		},
		"a container that sees the host's path": {
			"1:cpu:/docker/ab/c\n",
			[]string{container},
			func(m machine) { m.version1("sys/fs/cgroup/cpu", "20000", 0, 0) },
			func(m machine) { m.version1("sys/fs/cgroup/cpu", "20000", 100_000_000, 2) }, 0.1,
		},
		"another container": {
			"1:cpu:/docker/abc\n",
			[]string{container},
			func(m machine) { m.version1("sys/fs/cgroup/cpu", "20000", 0, 0) },
			func(m machine) { m.version1("sys/fs/cgroup/cpu", "20000", 100_000_000, 2) }, none,
		},
		"outside the namespace": {
			"0::/../elsewhere\n",
			[]string{pure},
			func(m machine) { m.version2(base2+"/elsewhere", "20000", 0, 0) },
			func(m machine) { m.version2(base2+"/elsewhere", "20000", 100_000, 1) }, none,
		},
		"a new quota": {
			"0::/b\n",
			[]string{pure},
			func(m machine) { m.version2(base2+"/b", "max", 0, 0) },
			func(m machine) { m.version2(base2+"/b", "20000", 100_000, 1) }, none,
		},
		"another group of the same name": {
			"0::/b\n",
			[]string{pure},
			func(m machine) { m.version2(base2+"/b", "20000", 500_000, 9) },
			func(m machine) { m.version2(base2+"/b", "20000", 100_000, 1) }, none,
		},
		"nothing mounted": {"0::/b\n", nil, func(machine) {}, func(machine) {}, none},
		"no cpu.stat": {
			"0::/b\n",
			[]string{pure},
			func(m machine) { m.write(base2+"/b/cpu.max", "20000 100000\n") },
			func(machine) {}, none,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, tt.groups, tt.mounts...)
			tt.before(m)
			meter := newMeter(m.root, 7)
			if got, ok := meter.Read(); ok {
				t.Errorf("the first reading gives %v s", got)
			}
			tt.after(m)
			got, ok := meter.Read()
			if ok == math.IsNaN(tt.want) || ok && math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("%v s, %v; want %v", got, ok, tt.want)
			}
		})
	}
}

// The readings add up to the total, whether the time or the number of periods limits it.
func TestReadingsAddUp(t *testing.T) {
	m := newMachine(t, "0::/b\n", pure)
	sum := 0.0
	var meter *Meter
	// The kernel counts a period when it begins and the time when it ends.
	for i, at := range []struct{ usec, periods int }{{0, 0}, {0, 1}, {180_000, 3}, {180_000, 4}, {320_000, 4}} {
		m.version2("sys/fs/cgroup/b", "20000", at.usec, at.periods)
		if i == 0 {
			meter = newMeter(m.root, 7)
		}
		v, _ := meter.Read()
		sum += v
	}
	if math.Abs(sum-0.32) > 1e-9 {
		t.Errorf("%v s in all, want 0.32", sum)
	}
}

func TestEndedProcess(t *testing.T) {
	m := newMachine(t, "0::/b\n", pure)
	m.version2("sys/fs/cgroup/b", "20000", 0, 0)
	meter := newMeter(m.root, 8)
	meter.Read()
	if v, ok := meter.Read(); ok {
		t.Errorf("a process that has ended was throttled for %v s", v)
	}
}
