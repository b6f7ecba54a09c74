package host

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"

	"assay.dev/assay/internal/observe/collect/quota"
	"assay.dev/assay/internal/observe/metric"
)

// process is a watched process. Its start time distinguishes it from a later one with
// the same id.
type process struct {
	proc    procfs.Proc
	started uint64
	gone    bool

	threads map[int]time.Duration // time that each thread has waited for a CPU, by id
	// queued is the time that all threads have waited for a CPU, since the process was first read.
	queued time.Duration
	cpu    float64 // CPU time of the process and its descendants, s
	quota  *quota.Meter
}

// processes reports the watched processes that still run.
func (c *Collector) processes(p *points) {
	for name, pid := range c.pids() {
		w := c.watched[name]
		if w == nil {
			w = &process{quota: quota.New(pid)}
			c.watched[name] = w
			var err error
			if w.proc, err = c.proc.Proc(pid); err != nil {
				w.gone = true
			}
		}
		stat, running := w.stat()
		if !running {
			continue
		}
		var children []int
		if name == metric.SourceDatabase { // the children of a service may be unrelated programs
			children = descendants(pid)
		}
		p.counter(metric.ProcessCPU, w.cpuTime(stat, children, c.proc), "process", name)
		p.gauge(metric.ProcessMemory, float64(stat.ResidentMemory()), "process", name)
		p.gauge(metric.ProcessCPUs, float64(allowed(pid)), "process", name)
		if len(c.idle.increase) > 0 {
			p.increase(metric.ProcessCPUIdle, c.idle.of(pid), "process", name)
		}
		if w.queue(c.proc, append(children, pid)) {
			p.counter(metric.ProcessRunQueue, w.queued.Seconds(), "process", name)
		}
		w.throttled(p, name)
	}
}

// stat reads the state of the process; false once it has ended.
func (w *process) stat() (procfs.ProcStat, bool) {
	if w.gone {
		return procfs.ProcStat{}, false
	}
	stat, err := w.proc.Stat()
	w.gone = err != nil || w.started != 0 && stat.Starttime != w.started || stat.State == "Z"
	w.started = stat.Starttime
	return stat, !w.gone
}

// queue adds the time that the processes' threads waited in the run queue since the
// last reading. A thread's time before its first and after its last reading is not
// counted. It is false if the kernel reports the time of no thread.
func (w *process) queue(fs procfs.FS, pids []int) bool {
	var threads procfs.Procs
	for _, pid := range pids {
		if all, err := fs.AllThreads(pid); err == nil { // else it has ended
			threads = append(threads, all...)
		}
	}
	now := make(map[int]time.Duration, len(threads))
	for _, t := range threads {
		s, err := t.Schedstat()
		if err != nil {
			continue // it has ended, or the kernel has no schedstat
		}
		now[t.PID] = time.Duration(s.WaitingNanoseconds)
		if before, ok := w.threads[t.PID]; ok {
			w.queued += max(0, now[t.PID]-before)
		}
	}
	w.threads = now
	return len(now) > 0
}

// throttled reports for how long a quota has throttled the process. Workers, which may
// run on other hosts, report that themselves.
func (w *process) throttled(p *points, name string) {
	if name != metric.SourceService && name != metric.SourceDatabase {
		return
	}
	if s, ok := w.quota.Read(); ok {
		p.increase(metric.CgroupThrottled, s, "process", name)
	}
}

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

// The state of a process is sampled at intervals of minInterval to maxInterval, which vary
// so that a process that is stopped periodically is not sampled in step with it.
const (
	minInterval = 20 * time.Millisecond
	maxInterval = 60 * time.Millisecond
)

// stops samples whether the service and the database are stopped: by a signal, or by a
// debugger. A stopped process is in no run queue and uses no CPU, so that nothing else of
// what the kernel accounts for shows it.
type stops struct {
	proc procfs.FS
	pids func() map[string]int

	mu   sync.Mutex
	seen map[string]sampledState
}

// sampledState counts the samples of a process since the last reading.
type sampledState struct{ samples, stopped int }

func (s *stops) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(minInterval + rand.N(maxInterval-minInterval)):
			s.sample()
		}
	}
}

func (s *stops) sample() {
	pids := s.pids()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range []string{metric.SourceService, metric.SourceDatabase} {
		pid, ok := pids[name]
		if !ok {
			continue
		}
		p, err := s.proc.Proc(pid)
		if err != nil {
			continue
		}
		stat, err := p.Stat()
		if err != nil {
			continue
		}
		now := s.seen[name]
		now.samples++
		if stat.State == "T" || stat.State == "t" {
			now.stopped++
		}
		s.seen[name] = now
	}
}

// points reports the time for which the processes were stopped since the last reading,
// elapsed s ago.
func (s *stops) points(p *points, elapsed float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, n := range s.seen {
		p.increase(metric.ProcessStopped, elapsed*float64(n.stopped)/float64(n.samples), "process", name)
	}
	clear(s.seen)
}
