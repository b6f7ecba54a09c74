package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// descendants returns all descendants of a process, because some servers have a process
// per session. It is empty if the kernel does not list children.
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

// cpuTime returns the CPU time, in s, of the process and its descendants, including ended
// ones. A process that is just ending may be missed in one reading, so the result is never
// less than the last one.
func (w *process) cpuTime(own procfs.ProcStat, children []int, fs procfs.FS) float64 {
	sum := cpuTimeWithEnded(own)
	for _, pid := range children {
		if p, err := fs.Proc(pid); err == nil {
			if stat, err := p.Stat(); err == nil {
				sum += cpuTimeWithEnded(stat)
			}
		}
	}
	w.cpu = max(w.cpu, sum)
	return w.cpu
}

// cpuTimeWithEnded returns the CPU time, in s, of a process and of its children that have
// ended.
func cpuTimeWithEnded(s procfs.ProcStat) float64 {
	const ticksPerSecond = 100 // on every architecture that Go supports
	return s.CPUTime() + float64(s.CUTime+s.CSTime)/ticksPerSecond
}
