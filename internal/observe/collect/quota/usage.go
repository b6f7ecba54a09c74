package quota

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// usage holds the kernel's counters of a cgroup with a quota.
type usage struct {
	throttled float64 // s, the sum over all CPUs
	periods   float64 // number of periods in which the group was throttled
	length    float64 // of a period, s
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
