package host

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/procfs"

	"assay.dev/assay/internal/observe/metric"
)

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

// run samples until ctx is done.
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
