//go:build live

package arrivals

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/testing/budget"
)

// An overload is charged to the system, in whatever order VUs take overdue slots; the
// generator is charged only for its stalls.
func TestOverloadIsNotChargedToTheGenerator(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.3)
	const vus, slots = 16, 8000
	stage := plan.Stage{Duration: 400 * time.Millisecond, From: 20_000, To: 20_000, Arrivals: slots}
	e := newTestExecutor(t, Parameters{Plan: plan.Plan{Stages: []plan.Stage{stage}, Even: true, Timeout: time.Minute}}, vus)
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
	count, charged, stalled := 0, 0, time.Duration(0)
	for _, s := range r.stalls.past { // also of one whose backlog has drained since
		stalled += s.To - s.From
	}
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
