package quota

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// usage is what the kernel has counted of a cgroup's quota.
type usage struct {
	throttled float64 // s for which each CPU was withheld, of all CPUs together
	periods   float64 // in which that happened
	length    float64 // s, of a period
}

// since is the time for which the group was stopped. The kernel adds up the time
// of each CPU; what was stopped on two of them for a second was stopped for one,
// and never for longer than the periods in which it happened.
func (u usage) since(first usage) float64 {
	return max(0, min(u.throttled-first.throttled, (u.periods-first.periods)*u.length))
}

// read reads a cgroup's folder; not ok where it has no quota (kernel:
// Documentation/admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst).
func read(version int, dir string) (u usage, ok bool) {
	quota, period := files(version, dir)
	most, limited := number(quota)
	length, known := number(period)
	if !limited || most <= 0 || !known { // no quota: "max", or -1
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

// files are a quota and the period that it is for, in us.
func files(version int, dir string) (quota, period string) {
	if version == 1 {
		most, _ := os.ReadFile(filepath.Join(dir, "cpu.cfs_quota_us"))
		length, _ := os.ReadFile(filepath.Join(dir, "cpu.cfs_period_us"))
		return string(most), string(length)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "cpu.max")) // the root has none
	quota, period, _ = strings.Cut(strings.TrimSpace(string(text)), " ")
	return quota, period
}

func number(text string) (float64, bool) {
	v, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return float64(v), err == nil
}
