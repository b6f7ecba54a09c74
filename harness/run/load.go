package run

import (
	"context"
	"fmt"
	"time"

	"assay/harness/observe/record"
)

// overtime is how long, after the last transaction has timed out, workers may
// take for teardown(), which k6 gives a minute, and for their last frames,
// before they are stopped.
const overtime = 85 * time.Second

// load watches the run until every worker has ended, which they do by
// themselves, or until something ends it before its plan.
func (r *run) load(ctx context.Context) {
	end := r.plan.Duration() + r.plan.Timeout
	overdue := time.NewTimer(time.Until(r.t0) + end + overtime)
	defer overdue.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	stage := -1
	for {
		select {
		case <-r.fleet.Done():
			r.explainExits()
			return
		case exit := <-r.fleet.Ended():
			if exit.Status != "0" && !r.looks.decided() {
				r.stop(exit.String())
				return
			}
		case <-ctx.Done():
			r.stop("interrupted")
			return
		case r.failed = <-r.unwritten:
			r.receiver.Close() // so that workers do not try again with what is left
			r.stop("the record cannot be written")
			return
		case <-overdue.C:
			r.stop(fmt.Sprintf("workers had not ended %s after the last time-out", overtime))
			return
		case now := <-tick.C:
			r.watchClock(now)
			stage = r.tell(stage)
			r.tellView()
			// After the schedule's end there is no load to spare the target.
			if now.After(r.t0.Add(r.plan.Duration())) {
				continue
			}
			if r.look() {
				return
			}
			if r.aborted = r.watch.abortCondition(r.t0.Unix(), r.watched()); r.aborted != nil {
				r.stop(fmt.Sprintf("aborted to spare the target: %s %s", r.aborted.Metric, r.aborted.Expression))
				return
			}
		}
	}
}

// look judges the run so far where a look is due, and ends it where that decides.
func (r *run) look() (ended bool) {
	undecided, due := r.looks.take(record.Run{
		Plan: r.asked, Facts: record.Facts{T0: r.t0.UTC(), Ended: time.Now().UTC()},
	}, time.Since(r.t0))
	switch {
	case !due:
		return false
	case len(undecided) > 0:
		r.step(fmt.Sprintf("undecided: %s; the hold goes on to %s", summary(undecided), r.looks.hold()))
		return false
	}
	r.step("decided: the hold ends")
	r.ended = time.Now()
	r.fleet.Stop(r.ForceStop)
	return true
}

// stop ends the load before its plan.
func (r *run) stop(why string) {
	r.stopped = why
	r.step("stopping: " + why)
	r.ended = time.Now()
	r.fleet.Stop(r.ForceStop) // it has a limit of its own
}

// explainExits finds why the run ended early, if it did.
func (r *run) explainExits() {
	for _, e := range r.fleet.Exits() {
		if e.Status != "0" && r.stopped == "" {
			r.stopped = e.String()
		}
	}
}

// tell reports the second that has passed, and a stage that has begun.
func (r *run) tell(stage int) int {
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

// watched is the last second whose frames have come: they do about a quarter of
// one after its end.
func (r *run) watched() int64 {
	return r.t0.Unix() + int64(time.Since(r.t0)/time.Second) - 2
}
