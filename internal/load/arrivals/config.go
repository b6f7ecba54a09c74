package arrivals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/executor"

	"assay.dev/assay/internal/load/mark"
	"assay.dev/assay/internal/plan"
)

// ExecutorType is the executor's name in k6's configuration.
const ExecutorType = "assay-arrivals"

// Parameters are a k6 scenario's part of a run's plan.
type Parameters struct {
	plan.Plan          // plan of the scenario, without its workers
	VUs       int      `json:"vus"`
	RunSetup  bool     `json:"run_setup"` // this worker runs setup() for the whole fleet
	Hosts     []string `json:"hosts"`     // allowed targets, in addition to loopback
}

// Register makes the executor known to k6, and returns its VUs. start waits for the
// fleet's common start; nil starts at the next whole second. marks are of the requests;
// nil: none.
func Register(start Starter, marks *mark.Marks) *VUs {
	shared := &process{starter: start}
	lib.RegisterExecutorConfigType(ExecutorType, func(name string, raw []byte) (lib.ExecutorConfig, error) {
		c := &executorConfig{BaseConfig: executor.NewBaseConfig(name, ExecutorType), process: shared, marks: marks}
		err := json.Unmarshal(raw, c)
		return c, err
	})
	return &shared.vus
}

// executorConfig is the executor's configuration in k6.
type executorConfig struct {
	executor.BaseConfig
	Parameters Parameters `json:"assay"`

	process *process
	marks   *mark.Marks
}

var _ lib.ExecutorConfig = &executorConfig{}

// Validate checks the parameters, which come from the plan.
func (c *executorConfig) Validate() []error {
	errs := c.BaseConfig.Validate()
	if len(c.Parameters.Stages) == 0 {
		errs = append(errs, errors.New("want at least one stage"))
	}
	if c.Parameters.VUs < 1 {
		errs = append(errs, errors.New("want at least one VU"))
	}
	if c.Parameters.Timeout <= 0 {
		errs = append(errs, errors.New("the timeout must be positive"))
	}
	return errs
}

// GetGracefulStop is how long transactions may run after the last arrival.
func (c *executorConfig) GetGracefulStop() time.Duration { return c.Parameters.Longest() }

// GetExecutionRequirements requests all VUs from the start.
func (c *executorConfig) GetExecutionRequirements(*lib.ExecutionTuple) []lib.ExecutionStep {
	return []lib.ExecutionStep{
		{PlannedVUs: uint64(c.Parameters.VUs)},
		{TimeOffset: c.Parameters.Duration() + c.Parameters.Longest()},
	}
}

// GetDescription is k6's line about the scenario.
func (c *executorConfig) GetDescription(*lib.ExecutionTuple) string {
	return fmt.Sprintf("open-model arrivals for %s with %d VUs", c.Parameters.Duration(), c.Parameters.VUs)
}

// HasWork is always true: a worker without slots of its own still takes part.
func (c *executorConfig) HasWork(*lib.ExecutionTuple) bool { return true }

// process is what the executors of one k6 process share: with several flows there is one
// for each, but the process registers, waits for the start and guards its connections once.
type process struct {
	starter Starter // nil: each process starts by itself, at a whole second
	vus     VUs

	registering sync.Mutex
	ready       bool

	starting sync.Once
	t0       time.Time
	setup    []byte
	err      error

	guarding sync.Mutex
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
	p.registering.Lock()
	defer p.registering.Unlock()
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
	p.starting.Do(func() {
		if p.starter != nil {
			p.t0, p.setup, p.err = p.starter.Start(ctx, ownSetup)
			return
		}
		now := time.Now()
		p.t0 = now.Add(now.Truncate(time.Second).Add(time.Second).Sub(now))
	})
	return p.t0, p.setup, p.err
}
