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
	"assay.dev/assay/internal/wire"
)

// overtime is how long workers may take after the last transaction has timed out,
// for teardown() (k6 allows a minute) and their last frames, before they are stopped.
const overtime = 85 * time.Second

// loading is a run under load.
type loading struct {
	*measuring
	t0        time.Time       // with a monotonic reading
	faults    *injector       // injector of the profile's faults
	silent    map[int]bool    // workers that were not heard from in the last second
	clockStep time.Duration   // largest change of the wall clock since t0
	stopped   string          // why the load ended early; empty: it did not
	ended     time.Time       // when it was stopped early
	aborted   *record.Abort   // abort condition that stopped it; nil: none
	attempt   int             // number of the run among the attempts of its profile; 0: unknown, or none
	earlier   *record.Earlier // those before it
	unwritten error           // why the record could not be written, once the load has ended because of it
}

// watch watches the load until all workers have ended by themselves, or something
// stops it early.
func (l *loading) watch(ctx context.Context) {
	end := l.plan.Duration() + l.plan.Longest()
	limit := time.Until(l.t0) + end + overtime
	if l.Resume { // later than that, too: its workers may have ended, or still be lost
		limit = max(limit, stopTimeout)
	}
	overdue := time.NewTimer(limit)
	defer overdue.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	stage := -1
	for {
		select {
		case <-l.crew.coordinator.Done():
			for _, e := range l.crew.coordinator.Exits() { // one may have ended the run early
				if e.Status != "0" && e.Status != fleet.Closed && l.stopped == "" {
					l.stopped = e.String()
				}
			}
			l.awaitEnd(ctx)
			return
		case exit := <-l.crew.coordinator.Ended():
			if exit.Status != "0" && exit.Status != fleet.Closed && !l.in.looks.ended {
				l.stop(exit.String())
				return
			}
		case <-ctx.Done():
			l.stop(whyInterrupted(ctx))
			return
		case why := <-l.in.contradictions:
			l.stop(why)
			return
		case l.unwritten = <-l.in.failures:
			l.crew.receiver.Close() // so that workers do not send their frames again
			l.stop("the record cannot be written")
			return
		case <-overdue.C:
			l.stop(fmt.Sprintf("workers were still running %s after the last transaction's timeout", overtime))
			return
		case now := <-tick.C:
			l.watchClock(now)
			l.crew.coordinator.LoseSilent()
			l.reportSilent()
			stage = l.reportSecond(stage)
			l.in.view.report()
			// After the end of the schedule there is no load to stop.
			if now.After(l.t0.Add(l.plan.Duration())) {
				continue
			}
			if l.look() {
				return
			}
			if l.aborted = l.in.watch.abortCondition(l.t0.Unix(), l.watched()); l.aborted != nil {
				l.stop("aborted " + l.aborted.String())
				return
			}
			for _, text := range l.in.watch.unread(l.t0.Unix(), l.watched()) {
				l.step(text)
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
func (l *loading) awaitEnd(ctx context.Context) {
	left := time.Until(l.t0.Add(l.plan.Duration()))
	if l.stopped != "" || left > aheadOfPlan {
		return // the run is incomplete
	}
	sleep(ctx, left)
}

// look judges the run so far if a look is due, and ends the load if all SLOs are
// decided.
func (l *loading) look() (ended bool) {
	undecided, due := l.in.looks.judge(record.Run{
		Plan: l.planned, Facts: record.Facts{T0: l.t0.UTC(), Ended: time.Now().UTC()},
	}, time.Since(l.t0))
	switch {
	case !due:
		return false
	case len(undecided) > 0:
		l.step(fmt.Sprintf("undecided: %s; extending the hold to %s", summary(undecided), l.in.looks.hold()))
		return false
	}
	l.step("all SLOs are decided: ending the hold")
	l.endLoad("all SLOs are decided")
	return true
}

// stop ends the load early, and records why.
func (l *loading) stop(why string) {
	l.stopped = why
	l.step("stopping: " + why)
	l.endLoad(why)
}

// endLoad stops the workers, and returns when they have ended.
func (l *loading) endLoad(why string) {
	if l.faults.cancel != nil {
		l.faults.cancel() // no further fault
	}
	l.ended = time.Now()
	l.crew.end(l.ForceStop, why)
}

// reportSilent reports workers that are not heard from, once, and that they are again.
func (l *loading) reportSilent() {
	now := l.crew.coordinator.Silent()
	for _, i := range slices.Sorted(maps.Keys(now)) {
		if !l.silent[i] {
			l.step(now[i])
		}
	}
	for _, i := range slices.Sorted(maps.Keys(l.silent)) {
		if now[i] == "" && !l.crew.coordinator.HasEnded(i) {
			l.step(metric.WorkerSource(i) + " is heard from again")
		}
	}
	l.silent = map[int]bool{}
	for i := range now {
		l.silent[i] = true
	}
}

// reportSecond reports the second that has passed, and a stage that has begun.
func (l *loading) reportSecond(stage int) int {
	at := time.Since(l.t0)
	if at < 0 || at > l.plan.Duration()+time.Second {
		return stage
	}
	for stage+1 < len(l.plan.Stages) && at >= l.plan.Stages[stage+1].Start {
		stage++
		l.Progress(Event{Kind: Enter, Stage: l.plan.Stages[stage], Offset: at, Of: l.plan.Duration()})
	}
	second := l.watched()
	if second >= l.t0.Unix() && stage >= 0 {
		l.Progress(Event{Kind: Tick, Stage: l.plan.Stages[stage], Offset: at, Of: l.plan.Duration(), Live: l.in.watch.at(second)})
	}
	return stage
}

// watched is the last second whose frames have arrived, which they do about
// 0.25 s after its end.
func (l *loading) watched() int64 {
	return l.t0.Unix() + int64(time.Since(l.t0)/time.Second) - 2
}

// watchClock records the largest change of the wall clock since t0. Schedules and
// latencies use the monotonic clock, which nobody sets; persist lag compares wall
// clocks.
func (l *loading) watchClock(now time.Time) {
	step := now.Round(0).Sub(l.t0.Round(0)) - now.Sub(l.t0)
	if step.Abs() > l.clockStep.Abs() {
		l.clockStep = step
	}
}

// stopTimeout is how long the workers may take to end, to interrupt their iterations
// and to deliver their last frames.
const stopTimeout = wire.LostAfter + 10*time.Second

// end asks the workers to end their load, and returns when all have ended or
// ctx is done.
func (c *crew) end(ctx context.Context, why string) {
	c.coordinator.Stop(why)
	if c.workers != nil {
		c.workers.Resume()
	}
	limit := time.NewTimer(stopTimeout)
	defer limit.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for waiting := true; waiting; {
		select {
		case <-c.coordinator.Done():
			return
		case <-tick.C:
			c.coordinator.LoseSilent()
			continue
		case <-limit.C:
		case <-ctx.Done():
		}
		waiting = false
	}
	if c.workers != nil {
		c.workers.Kill()
		select {
		case <-c.coordinator.Done():
			return
		case <-time.After(killTimeout):
		}
	}
	c.coordinator.LoseAll("it did not end in time")
}

// killTimeout is how long the end of killed processes may take to be noticed.
const killTimeout = 2 * time.Second

// killLeft kills workers that may still run although the load has ended: one that is lost
// could add rows while the ledger is compared. After an interrupt no time is left to wait
// for the end of any.
func (c *crew) killLeft(ctx context.Context) {
	lost := slices.ContainsFunc(c.coordinator.Exits(), func(e fleet.Exit) bool { return e.Status == fleet.Lost })
	if c.workers != nil && (lost || ctx.Err() != nil) {
		c.workers.Kill()
	}
}

// podsTimeout is how long the cluster may take to say how the pods of workers ended.
const podsTimeout = 15 * time.Second

// facts are how each worker ended.
func (c *crew) facts(ctx context.Context) (all []record.Worker) {
	var pods map[string]record.Pod
	if w, inPods := c.workers.(fleet.InPods); inPods {
		ctx, cancel := context.WithTimeout(ctx, podsTimeout)
		defer cancel()
		pods = w.Pods(ctx)
	}
	for i, e := range c.coordinator.Exits() {
		w := record.Worker{Source: e.Source, Exit: e.Status, Error: e.Error, Logged: e.Logged, Thrown: e.Thrown}
		if i < len(c.joined) { // a continued run does not know
			if pod, known := pods[c.joined[i].Machine.Pod]; known {
				w.Pod = &pod
			}
		}
		all = append(all, w)
	}
	return all
}
