// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// workerLost: every worker ended by itself. What a lost one did not report breaks other
// rules, of which this is the cause.
func workerLost(e *evidence) Rule {
	r := Rule{Outcome: Pass, Rule: certificate.Rule{
		Limit:  pointer(0.0),
		Detail: "it is not known how each worker ended",
	}}
	if len(e.losses) == 0 {
		if e.allEnded() {
			r.Observed, r.Detail = pointer(0.0), "every worker ended by itself"
		}
		return r
	}
	var texts []string
	for _, l := range e.losses {
		texts = append(texts, e.lossText(l))
	}
	r.Observed, r.Outcome = pointer(float64(len(texts))), Invalid
	r.Detail, r.Advice = joinFirst(texts, 3), e.losses[0].advice()
	if why := e.stoppedBeforeLosses(); why != "" {
		r.Detail, r.Advice = fmt.Sprintf("the run was stopped (%s), then %s", why, r.Detail), removeStop
	}
	return r
}

// loss is a worker that did not end by itself.
type loss struct {
	record.Worker
	at time.Time // when that was noticed; zero: not known
}

// isLoss reports whether a worker did not end by itself.
func isLoss(w record.Worker) bool {
	return w.Exit == record.ExitLost || wasKilled(w) || w.Pod != nil && (w.Pod.Reason != "" || w.Pod.Restarts > 0)
}

func wasKilled(w record.Worker) bool { return strings.HasPrefix(w.Exit, "signal:") }

// findLosses are the losses among the plan's workers, earliest first: the first one stops
// the run, so that later ones may be its consequences. Where it is not known when they were
// noticed, they come last, by number.
func (e *evidence) findLosses() (all []loss) {
	stopper := e.stopper()
	for _, source := range e.workers() {
		w := e.factsOf(source)
		if !isLoss(w) {
			continue
		}
		l := loss{Worker: w}
		if w.Pod != nil {
			l.at = w.Pod.At
		}
		if source == stopper && (l.at.IsZero() || e.Facts.Ended.Before(l.at)) {
			l.at = e.Facts.Ended
		}
		all = append(all, l)
	}
	slices.SortStableFunc(all, func(a, b loss) int {
		switch {
		case a.at.IsZero() == b.at.IsZero():
			return a.at.Compare(b.at)
		case a.at.IsZero():
			return 1
		}
		return -1
	})
	return all
}

// isLost reports whether a worker is one of the losses.
func (e *evidence) isLost(source string) bool {
	return slices.ContainsFunc(e.losses, func(l loss) bool { return l.Source == source })
}

// stopper is the worker whose end stopped the run; empty: no worker's did.
func (e *evidence) stopper() string {
	first, _, _ := strings.Cut(e.Facts.Stopped, " ") // "worker/1 ended: signal: killed"
	if first = strings.TrimSuffix(first, ":"); metric.IsWorker(first) {
		return first
	}
	return ""
}

// stoppedBeforeLosses is why the run was stopped before the first worker was lost; empty:
// it was not.
func (e *evidence) stoppedBeforeLosses() string {
	first := e.losses[0]
	if first.Source == e.stopper() || !first.at.IsZero() && first.at.Before(e.Facts.Ended) {
		return ""
	}
	return e.stopReason()
}

// factsOf is how a worker ended; zero: not recorded.
func (e *evidence) factsOf(source string) record.Worker {
	for _, w := range e.Facts.Workers {
		if w.Source == source {
			return w
		}
	}
	return record.Worker{}
}

// allEnded reports whether it is known of each worker of the plan how it ended.
func (e *evidence) allEnded() bool {
	return len(e.plan.Workers) > 0 && !slices.ContainsFunc(e.workers(), func(source string) bool { return e.factsOf(source).Exit == "" })
}
