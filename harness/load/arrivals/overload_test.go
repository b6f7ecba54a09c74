package arrivals

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/executor"
	"go.k6.io/k6/metrics"

	"assay/harness/plan"
)

// slowVU is a VU of a slow system: each iteration takes this long.
type slowVU time.Duration

func (v slowVU) RunOnce() error { time.Sleep(time.Duration(v)); return nil }

// newTestExecutor is an executor without a script.
func newTestExecutor(t *testing.T, p Parameters, vus uint64) *arrivalsExecutor {
	t.Helper()
	whole, err := lib.NewExecutionTuple(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &arrivalsExecutor{
		BaseExecutor: &executor.BaseExecutor{}, config: &executorConfig{Parameters: p},
		state: lib.NewExecutionState(&lib.TestRunState{}, whole, vus, vus), stripe: Whole,
	}
}

// An overload is charged to the system, in whatever order VUs take overdue slots; the
// generator is charged only for its stalls.
func TestOverloadIsNotChargedToTheGenerator(t *testing.T) {
	const vus, slots = 16, 8000
	stage := plan.Stage{Duration: 400 * time.Millisecond, From: 20_000, To: 20_000, Arrivals: slots}
	e := newTestExecutor(t, Parameters{Stages: []plan.Stage{stage}, Even: true, Timeout: time.Minute}, vus)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := make(chan metrics.SampleContainer, 3*slots)
	r := newExecution(ctx, cancel, e, time.Now(), out)
	stop := r.startHeartbeat(startEcho(r.t0, &r.stalls))
	var all sync.WaitGroup
	for i := range vus {
		all.Go(func() { r.serve(ctx, slowVU(time.Millisecond), strconv.Itoa(i), &Pauses{}) })
	}
	all.Wait()
	stop(time.Since(r.t0))
	close(out)
	count, charged, stalled := 0, 0, r.stalls.backlogStall
	for c := range out {
		x, ok := c.(*Transaction)
		if !ok {
			continue
		}
		count++
		// 16 VUs of 1 ms serve less than 16,000/s.
		if late := x.Lag + x.Queueing; late > 10*time.Millisecond && x.Lag > stalled+stallAfter {
			charged++
		}
	}
	if count != slots || charged > 0 {
		t.Errorf("of %d transactions %d are charged to the generator, which stalled for %s", count, charged, stalled)
	}
}
