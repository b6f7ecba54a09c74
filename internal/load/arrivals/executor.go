package arrivals

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/executor"
	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/observe/metric"
)

// Starter is the executor's view of the fleet. Both calls may block until ctx is
// done.
type Starter interface {
	// Ready reports the metrics that the script has registered to the coordinator; an
	// error stops the run before any load is sent.
	Ready(ctx context.Context, registered map[string]string) error
	// Start waits for every worker and returns the common t0, with this process's
	// monotonic clock reading, and the result of setup(). ownSetup is the result in
	// this process, nil if another worker runs setup().
	Start(ctx context.Context, ownSetup []byte) (t0 time.Time, setup []byte, err error)
}

// arrivalsExecutor follows the schedule with a fixed number of VUs, each of
// which takes the next slot, waits until it is due and runs one iteration.
type arrivalsExecutor struct {
	*executor.BaseExecutor
	config *executorConfig
	state  *lib.ExecutionState
	metric *metrics.Metric
	stripe Stripe
	egress *egressGuard
}

// NewExecutor makes the executor.
func (c *executorConfig) NewExecutor(state *lib.ExecutionState, log *logrus.Entry) (lib.Executor, error) {
	start, offsets, _ := state.ExecutionTuple.GetStripedOffsets()
	runner, numbered := state.Test.Runner.(numbering) // by the executor of another flow
	if !numbered {
		runner = numbering{state.Test.Runner}
		state.Test.Runner = runner
	}
	// Before any VU is made and setup() runs.
	egress, err := c.process.guard(runner.Runner, c.Parameters.Hosts)
	return &arrivalsExecutor{
		BaseExecutor: executor.NewBaseExecutor(c, state, log),
		config:       c, state: state, egress: egress,
		stripe: Stripe{Start: start, Offsets: offsets},
	}, err
}

// numbering is k6's runner, whose VUs have numbers of their own in the whole fleet. Scripts make
// identities of __VU and __ITER, and k6 numbers the VUs of each process from 1.
type numbering struct{ lib.Runner }

// NewVU makes a VU, whose __VU is its vu.idInTest.
func (n numbering) NewVU(ctx context.Context, _, inTest uint64, out chan<- metrics.SampleContainer) (lib.InitializedVU, error) {
	return n.Runner.NewVU(ctx, inTest, inTest, out)
}

// Init registers the worker once its script and VUs are initialised, with all metrics
// but this package's own.
func (e *arrivalsExecutor) Init(ctx context.Context) (err error) {
	err = e.config.process.register(ctx, func() map[string]string {
		registered := map[string]string{}
		for _, m := range e.state.Test.Registry.All() {
			registered[m.Name] = m.Type.String()
		}
		return registered
	})
	if err != nil {
		return err
	}
	if e.metric, err = e.state.Test.Registry.NewMetric(metric.TransactionDuration, metrics.Trend, metrics.Time); err != nil {
		return fmt.Errorf("register %s: %w", metric.TransactionDuration, err)
	}
	return nil
}

// Run follows the schedule to its end, then waits for running transactions, at most
// until the last slot's timeout.
func (e *arrivalsExecutor) Run(parent context.Context, out chan<- metrics.SampleContainer) error {
	if err := e.egress.violation(); err != nil { // in setup()
		return err
	}
	t0, err := e.awaitStart(parent)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(parent, t0.Add(e.config.Parameters.Duration()+e.config.Parameters.Longest()))
	defer cancel()
	ctx = lib.WithScenarioState(ctx, &lib.ScenarioState{
		Name: e.config.Name, Executor: ExecutorType, StartTime: t0,
		ProgressFn: func() (float64, []string) {
			return min(1, max(0, float64(time.Since(t0))/float64(e.config.Parameters.Duration()))), nil
		},
	})
	r := newExecution(ctx, cancel, e, t0, out)
	var background crash.Group
	background.Go(func() { newAlarm().follow(ctx, t0, e.newSchedule()) })
	background.Go(func() {
		select {
		case err := <-e.egress.violations:
			r.fail(err)
		case <-ctx.Done():
		}
	})
	stopHeartbeat := r.startHeartbeat(startEcho(t0, &r.stalls))
	serving, deactivated := e.serveAll(ctx, r)
	served := returns(ctx, serving)
	if !served {
		r.abandon()
	}
	r.waitUntil(e.config.Parameters.Duration())
	stopHeartbeat(r.dropUnserved())
	cancel()
	if served { // else k6 ends while they run
		deactivated.Wait()
	}
	background.Wait()
	return r.failure()
}

// stuckAfter is how long a transaction may take to end once it is interrupted.
const stuckAfter = 5 * time.Second

// errStuck ends k6 although a transaction still runs. k6 can interrupt a script between its
// instructions, and one regular expression can take for ever.
var errStuck = fmt.Errorf("a transaction cannot be interrupted: it went on for %s, as in a regular expression that takes exponential time", stuckAfter)

// returns waits until all of a group have returned. False: some have not, long after ctx
// was done.
func returns(ctx context.Context, all *crash.Group) bool {
	done := make(chan struct{})
	crash.Go(func() { all.Wait(); close(done) })
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	select {
	case <-done:
		return true
	case <-time.After(stuckAfter):
		return false
	}
}

// serveAll lets all VUs serve slots. serving ends when none serves any more, deactivated
// when k6 has them back.
func (e *arrivalsExecutor) serveAll(ctx context.Context, r *execution) (serving, deactivated *crash.Group) {
	serving, deactivated = &crash.Group{}, &crash.Group{}
	for range e.config.Parameters.VUs {
		vu, err := e.state.GetPlannedVU(e.GetLogger(), true)
		if err != nil {
			r.fail(fmt.Errorf("get a VU: %w", err))
			break
		}
		name := strconv.FormatUint(vu.GetID(), 10)
		pauses, forget := r.newPauses(vu.GetID(), name)
		if err := (watcher{pauses, r.out}).watch(vu); err != nil {
			forget()
			r.fail(err)
			break
		}
		// A context for each VU keeps k6's per-iteration contexts out of one shared
		// list with one lock.
		vuCtx, stop := context.WithCancel(ctx)
		tags := map[string]string{VUTag: name}
		maps.Copy(tags, e.config.GetTags())
		deactivated.Add(1)
		active := vu.Activate(&lib.VUActivationParams{
			RunContext: vuCtx, Scenario: e.config.Name, Exec: e.config.GetExec(),
			Env: e.config.GetEnv(), Tags: tags,
			DeactivateCallback: func(u lib.InitializedVU) {
				e.state.ReturnVU(u, true)
				deactivated.Done()
			},
			GetNextIterationCounters: r.iteration,
		})
		serving.Go(func() {
			defer stop()
			defer forget()
			r.serve(vuCtx, active, name, pauses)
		})
	}
	return serving, deactivated
}

func (e *arrivalsExecutor) awaitStart(ctx context.Context) (time.Time, error) {
	var ownSetup []byte
	if e.config.Parameters.RunSetup {
		ownSetup = e.state.Test.Runner.GetSetupData()
	}
	t0, setup, err := e.config.process.start(ctx, ownSetup)
	if err != nil {
		return time.Time{}, err
	}
	if !e.config.Parameters.RunSetup && setup != nil {
		e.state.Test.Runner.SetSetupData(setup)
	}
	return t0, nil
}

func (e *arrivalsExecutor) tags() *metrics.TagSet {
	tags := e.state.Test.RunTags
	if e.state.Test.Options.SystemTags.Has(metrics.TagScenario) {
		tags = tags.With(metrics.TagScenario.String(), e.config.Name)
	}
	return tags
}

func (e *arrivalsExecutor) newSchedule() *Schedule {
	p := e.config.Parameters
	return NewSchedule(p.Stages, p.Seed, p.Even, e.stripe)
}
