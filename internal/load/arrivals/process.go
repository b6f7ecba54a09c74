package arrivals

import (
	"context"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib"
)

// process is what the executors of one k6 process share: with several flows there is one
// for each, but the process registers, waits for the start and guards its connections once.
type process struct {
	starter Starter // nil: each process starts by itself, at a whole second
	vus     VUs

	mu      sync.Mutex
	ready   bool
	started bool
	t0      time.Time
	setup   []byte
	err     error // of the start

	guarding sync.Mutex // apart from mu, which is held while the process waits
	runner   lib.Runner
	egress   *egressGuard
}

// guard guards the runner's connections, once.
func (p *process) guard(runner lib.Runner, hosts []string) (*egressGuard, error) {
	p.guarding.Lock()
	defer p.guarding.Unlock()
	if p.egress != nil && p.runner == runner {
		return p.egress, nil
	}
	egress, err := guardEgress(runner, hosts)
	if err == nil {
		p.runner, p.egress = runner, egress
	}
	return egress, err
}

// register registers the process with the coordinator, once. registered lists the metrics
// of the scripts.
func (p *process) register(ctx context.Context, registered func() map[string]string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.starter == nil || p.ready {
		return nil
	}
	err := p.starter.Ready(ctx, registered())
	p.ready = err == nil
	return err
}

// start waits for the common start, and returns the same t0 and setup data for every
// executor of the process.
func (p *process) start(ctx context.Context, ownSetup []byte) (t0 time.Time, setup []byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started {
		return p.t0, p.setup, p.err
	}
	p.started = true
	if p.starter == nil {
		now := time.Now()
		p.t0 = now.Add(now.Truncate(time.Second).Add(time.Second).Sub(now))
	} else {
		p.t0, p.setup, p.err = p.starter.Start(ctx, ownSetup)
	}
	return p.t0, p.setup, p.err
}
