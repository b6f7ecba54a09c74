package arrivals

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/metrics"
)

// Pauses are the think times of a VU's current transaction: what its script waits in the
// place of a user who reads or decides. They count neither as the transaction's latency nor
// towards its timeout. Only the VU's own goroutine uses it.
type Pauses struct {
	scenario, vu string
	t0           time.Time
	limit        time.Duration // longest think time that a transaction may ask for
	sending      sending
	of           *execution
	asked, took  time.Duration // by the current transaction; a pause takes longer than asked where its timer is late
	// sent counts the HTTP requests of the current transaction, timers those that have not fired.
	sent, timers atomic.Int64
}

// begin begins a transaction.
func (p *Pauses) begin() {
	p.asked, p.took = 0, 0
	p.sending.begun.Store(false)
	p.sent.Store(0)
	p.timers.Store(0)
}

// Pause is one think time of a transaction, since t0, as the outputs get it.
type Pause struct {
	Scenario string // k6 scenario
	VU       string // value of VUTag
	From, To time.Duration
}

// GetSamples is empty: only our output reads it.
func (Pause) GetSamples() []metrics.Sample { return nil }

// PausedIn is how much of the time between two instants pauses take, which do not overlap.
func PausedIn(pauses []Pause, from, to time.Duration) (d time.Duration) {
	for _, p := range pauses {
		d += max(0, min(to, p.To)-max(from, p.From))
	}
	return d
}

// VUs are the pauses of all VUs of a process that serve a schedule, and what these send.
type VUs struct{ all sync.Map } // *Pauses by the VU's number

// Pauses are those of a VU by its number; nil if it serves no schedule.
func (v *VUs) Pauses(number uint64) *Pauses {
	p, _ := v.all.Load(number)
	found, _ := p.(*Pauses)
	return found
}

// newPauses makes those of a VU, which its script finds until remove is called.
func (r *execution) newPauses(number uint64, vu string) (p *Pauses, remove func()) {
	c := r.executor.config
	p = &Pauses{scenario: c.Name, vu: vu, t0: r.t0, limit: c.Parameters.Think, of: r}
	c.process.vus.all.Store(number, p)
	return p, func() { c.process.vus.all.Delete(number) }
}

// Called reports a call of gRPC, with its status among the tags, unless the run has ended.
func (p *Pauses) Called(tags *metrics.TagSet, from, to time.Time) {
	metrics.PushIfNotDone(p.of.ctx, p.of.out, metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: p.of.executor.state.Test.BuiltinMetrics.GRPCReqDuration, Tags: tags},
		Time:       to, Value: metrics.D(to.Sub(from)),
	})
}

// Slept reports that the script slept, which is a part of its transaction's latency.
func (p *Pauses) Slept(from time.Time, out chan<- metrics.SampleContainer) {
	(watcher{p, out}).waited(AtTimer, from, nil)
}

// Take waits for d, or until ctx is done, and reports the pause to out, before the executor
// reports the transaction. It fails if the transaction asks to think for longer than its
// profile allows, which its VUs and its timeout were planned with.
func (p *Pauses) Take(ctx context.Context, d time.Duration, out chan<- metrics.SampleContainer) error {
	switch {
	case p.limit == 0:
		return fmt.Errorf(`the profile has no "think": give it the longest time that a transaction thinks, for example "think": %q`, d.String())
	case p.asked+d > p.limit:
		return fmt.Errorf(`the transaction would think for %s, longer than the profile's "think" of %s`, p.asked+d, p.limit)
	}
	p.asked += d
	from := time.Since(p.t0)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	to := time.Since(p.t0)
	p.took += to - from
	out <- Pause{Scenario: p.scenario, VU: p.vu, From: from, To: to}
	return nil
}
