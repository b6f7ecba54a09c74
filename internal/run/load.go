package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// overtime is how long workers may take after the last transaction has timed out,
// for teardown() (k6 allows a minute) and their last frames, before they are stopped.
const overtime = 85 * time.Second

// load watches the run until all workers have ended by themselves, or something
// stops it early.
func (r *run) load(ctx context.Context) {
	end := r.plan.Duration() + r.plan.Longest()
	limit := time.Until(r.t0) + end + overtime
	if r.Resume { // later than that, too: its workers may have ended, or still be lost
		limit = max(limit, stopTimeout)
	}
	overdue := time.NewTimer(limit)
	defer overdue.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	stage := -1
	for {
		select {
		case <-r.coordinator.Done():
			r.explainExits()
			r.awaitEnd(ctx)
			return
		case exit := <-r.coordinator.Ended():
			if exit.Status != "0" && exit.Status != fleet.Closed && !r.looks.decided() {
				r.stop(exit.String())
				return
			}
		case <-ctx.Done():
			r.stop(whyInterrupted(ctx))
			return
		case why := <-r.contradictions:
			r.stop(why)
			return
		case r.writeError = <-r.writeErrors:
			r.receiver.Close() // so that workers do not send their frames again
			r.stop("the record cannot be written")
			return
		case <-overdue.C:
			r.stop(fmt.Sprintf("workers were still running %s after the last transaction's timeout", overtime))
			return
		case now := <-tick.C:
			r.watchClock(now)
			r.coordinator.LoseSilent()
			r.reportSilent()
			stage = r.reportSecond(stage)
			r.reportView()
			// After the end of the schedule there is no load to stop.
			if now.After(r.t0.Add(r.plan.Duration())) {
				continue
			}
			if r.look() {
				return
			}
			if r.aborted = r.watch.abortCondition(r.t0.Unix(), r.watched()); r.aborted != nil {
				r.stop("aborted " + r.aborted.String())
				return
			}
			for _, text := range r.watch.unread(r.t0.Unix(), r.watched()) {
				r.step(text)
			}
		}
	}
}

// whyInterrupted is why the run's context is done: the user's interrupt, or a mistake of
// ours in a goroutine.
func whyInterrupted(ctx context.Context) string {
	var ours *crash.Error
	if errors.As(context.Cause(ctx), &ours) {
		return ours.Error()
	}
	return "interrupted"
}

// aheadOfPlan is the most by which workers that have run the whole schedule can end before
// its end: half of a slow round trip.
const aheadOfPlan = time.Second

// awaitEnd waits for the end of the schedule by this machine's clock, once all workers have
// ended. The time of a worker is known to within half a round trip, so that it may have
// started, and ended, a little early.
func (r *run) awaitEnd(ctx context.Context) {
	left := time.Until(r.t0.Add(r.plan.Duration()))
	if r.stopped != "" || left > aheadOfPlan {
		return // the run is incomplete
	}
	select {
	case <-ctx.Done():
	case <-time.After(left):
	}
}

// look judges the run so far if a look is due, and ends the load if all SLOs are
// decided.
func (r *run) look() (ended bool) {
	undecided, due := r.looks.judge(record.Run{
		Plan: r.planned, Facts: record.Facts{T0: r.t0.UTC(), Ended: time.Now().UTC()},
	}, time.Since(r.t0))
	switch {
	case !due:
		return false
	case len(undecided) > 0:
		r.step(fmt.Sprintf("undecided: %s; extending the hold to %s", summary(undecided), r.looks.hold()))
		return false
	}
	r.step("all SLOs are decided: ending the hold")
	r.endLoad("all SLOs are decided")
	return true
}

// stop ends the load early, and records why.
func (r *run) stop(why string) {
	r.stopped = why
	r.step("stopping: " + why)
	r.endLoad(why)
}

// endLoad stops the workers, and returns when they have ended.
func (r *run) endLoad(why string) {
	if r.injector.cancel != nil {
		r.injector.cancel() // no further fault
	}
	r.ended = time.Now()
	r.endWorkers(r.ForceStop, why)
}

// explainExits finds the worker that ended the run early, if one did.
func (r *run) explainExits() {
	for _, e := range r.coordinator.Exits() {
		if e.Status != "0" && e.Status != fleet.Closed && r.stopped == "" {
			r.stopped = e.String()
		}
	}
}

// reportSilent reports workers that are not heard from, once, and that they are again.
func (r *run) reportSilent() {
	now := r.coordinator.Silent()
	for _, i := range slices.Sorted(maps.Keys(now)) {
		if !r.silent[i] {
			r.step(now[i])
		}
	}
	for _, i := range slices.Sorted(maps.Keys(r.silent)) {
		if now[i] == "" && !r.coordinator.HasEnded(i) {
			r.step(metric.WorkerSource(i) + " is heard from again")
		}
	}
	r.silent = map[int]bool{}
	for i := range now {
		r.silent[i] = true
	}
}

// reportSecond reports the second that has passed, and a stage that has begun.
func (r *run) reportSecond(stage int) int {
	at := time.Since(r.t0)
	if at < 0 || at > r.plan.Duration()+time.Second {
		return stage
	}
	for stage+1 < len(r.plan.Stages) && at >= r.plan.Stages[stage+1].Start {
		stage++
		r.Progress(Event{Kind: Enter, Stage: r.plan.Stages[stage], Offset: at, Of: r.plan.Duration()})
	}
	second := r.watched()
	if second >= r.t0.Unix() && stage >= 0 {
		r.Progress(Event{Kind: Tick, Stage: r.plan.Stages[stage], Offset: at, Of: r.plan.Duration(), Live: r.watch.at(second)})
	}
	return stage
}

// watched is the last second whose frames have arrived, which they do about
// 0.25 s after its end.
func (r *run) watched() int64 {
	return r.t0.Unix() + int64(time.Since(r.t0)/time.Second) - 2
}
