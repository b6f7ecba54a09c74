package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// descendants are the children of a process and their children: some servers have a
// process for each session. It is empty where the kernel does not list them.
func descendants(pid int) (all []int) {
	// Each thread has its own list.
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	for _, thread := range threads {
		list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(list)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(append(all, child), descendants(child)...)
			}
		}
	}
	return all
}

// used is the CPU time of the process and its descendants, with those that have
// ended. A process that is just ending may be missed, and is counted the next time.
func (w *process) used(own procfs.ProcStat, children []int, fs procfs.FS) float64 {
	sum := familyTime(own)
	for _, pid := range children {
		if p, err := fs.Proc(pid); err == nil {
			if stat, err := p.Stat(); err == nil {
				sum += familyTime(stat)
			}
		}
	}
	w.cpu = max(w.cpu, sum)
	return w.cpu
}

// familyTime is the CPU time of a process and of its children that have ended.
func familyTime(s procfs.ProcStat) float64 {
	const ticks = 100 // a second, on every architecture that Go runs on
	return s.CPUTime() + float64(s.CUTime+s.CSTime)/ticks
}
