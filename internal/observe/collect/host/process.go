package host

import (
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
	queued  time.Duration         // of all threads, since the process was first read
	cpu     float64               // s, of the process and its descendants
	quota   *quota.Meter
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
