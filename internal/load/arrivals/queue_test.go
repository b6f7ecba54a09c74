package arrivals

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/plan"
)

// TestQueue compares executions in simulated time with the recursion of a queue with
// several servers and a constant service time: each slot is taken in order by the VU that
// is free first, starts when it is due or when that VU is free, and is dropped if it
// waited for the timeout. No delay is charged to the generator.
func TestQueue(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	outcomes := map[Outcome]int{}
	for range 60 {
		vus := 1 + random.Uint64N(12)
		service := time.Duration(1+random.IntN(400)) * ms
		stage := plan.Stage{Duration: 8 * time.Second, Arrivals: 1 + random.Int64N(300), From: 1, To: 1 + 4*random.Float64()}
		p := Parameters{Plan: plan.Plan{
			Stages: []plan.Stage{stage}, Seed: random.Uint64(), Even: random.IntN(2) == 0,
			Timeout: service + time.Duration(random.IntN(3000))*ms,
		}}
		synctest.Test(t, func(t *testing.T) {
			got := simulate(t, p, vus, service)
			want := queue(NewSchedule(p.Stages, p.Seed, p.Even, Whole), make([]time.Duration, vus), service, p.Timeout)
			if !slices.Equal(got, want) {
				t.Errorf("%d VUs, %s each, %d slots, timeout %s:\n%v\nwant\n%v", vus, service, stage.Arrivals, p.Timeout, got, want)
			}
			for _, s := range got {
				outcomes[s.outcome]++
			}
		})
	}
	if outcomes[Completed] < 1000 || outcomes[TimedOut] < 100 || outcomes[Dropped] < 100 {
		t.Errorf("outcomes %v: too few of a kind were compared", outcomes)
	}
}

// served is a slot and its outcome; lag is the part of its delay that is charged to the
// generator.
type served struct {
	due, queueing, latency, lag time.Duration
	outcome                     Outcome
}

// queue is the recursion. free is when each VU becomes free.
func queue(schedule *Schedule, free []time.Duration, service, timeout time.Duration) (all []served) {
	for due, ok := schedule.Next(); ok; due, ok = schedule.Next() {
		first := slices.Index(free, slices.Min(free))
		start := max(due, free[first])
		s := served{due: due, queueing: start - due, latency: start - due + service, outcome: Completed}
		switch {
		case s.queueing >= timeout:
			s.latency, s.outcome = timeout, Dropped
		case s.latency > timeout:
			s.outcome = TimedOut
		}
		if s.outcome != Dropped {
			free[first] = start + service
		}
		all = append(all, s)
	}
	return all
}

// simulate runs the schedule in the time of the bubble, and returns its slots in order.
func simulate(t *testing.T, p Parameters, vus uint64, service time.Duration) (all []served) {
	t.Helper()
	e := newTestExecutor(t, p, vus)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := make(chan metrics.SampleContainer, 1000)
	r := newExecution(ctx, cancel, e, time.Now(), out)
	stop := r.startHeartbeat(nil) // the echo would wait for a pipe, in real time
	var serving sync.WaitGroup
	for i := range vus {
		serving.Go(func() { r.serve(ctx, slowVU(service), strconv.FormatUint(i, 10), &Pauses{}) })
	}
	serving.Wait()
	stop(time.Since(r.t0))
	close(out)
	scheduled := int64(0)
	for sample := range out {
		switch s := sample.(type) {
		case *Transaction:
			all = append(all, served{s.Due, s.Queueing, s.Latency, s.Lag, s.Outcome})
		case Scheduled:
			scheduled += s.Slots
		case Stall:
			t.Errorf("a stall of %s in simulated time", s.Delay)
		}
	}
	if want := p.Stages[0].Arrivals; scheduled != want {
		t.Errorf("%d slots were counted, want %d", scheduled, want)
	}
	slices.SortFunc(all, func(a, b served) int { return int(a.due - b.due) })
	return all
}

// After the run is stopped each slot that was due has one outcome, and no later slot has
// one: also if VUs, whose contexts are done a little later, go on.
func TestStopWhileVUsGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const vus, slots = 4, 400
		p := Parameters{Plan: plan.Plan{Stages: []plan.Stage{{Duration: 8 * time.Second, Arrivals: slots, From: 1, To: 1}}, Seed: 7, Timeout: time.Second}}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		out := make(chan metrics.SampleContainer, 3*slots)
		r := newExecution(ctx, cancel, newTestExecutor(t, p, vus), time.Now(), out)
		stop := r.startHeartbeat(nil)
		var serving sync.WaitGroup
		for i := range vus {
			serving.Go(func() { r.serve(t.Context(), slowVU(90*ms), strconv.Itoa(i), &Pauses{}) })
		}
		serving.Wait()
		end := r.dropUnserved()
		stop(end)
		close(out)
		got, scheduled := map[time.Duration]int{}, int64(0)
		for sample := range out {
			switch s := sample.(type) {
			case *Transaction:
				got[s.Due]++
			case Scheduled:
				scheduled += s.Slots
			}
		}
		want := map[time.Duration]int{}
		schedule := NewSchedule(p.Stages, p.Seed, p.Even, Whole)
		for due, ok := schedule.Next(); ok && due <= end; due, ok = schedule.Next() {
			want[due] = 1
		}
		if !maps.Equal(got, want) || scheduled != int64(len(want)) || len(want) < 100 || len(want) > 200 {
			t.Errorf("stopped after %s: %d slots with an outcome, %d counted, %d were due", end, len(got), scheduled, len(want))
		}
	})
}
