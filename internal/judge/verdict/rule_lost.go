// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
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
func workerLost(p *part) Rule {
	r := Rule{Rule: certificate.Rule{Limit: new(0.0), Detail: "it is not known how each worker ended"}}
	all, known := losses(p.evidence), len(p.plan.Workers) > 0
	for _, w := range p.workers() {
		known = known && factsOf(p.evidence, w).Exit != ""
	}
	if len(all) == 0 {
		if known {
			r.Observed, r.Detail = new(0.0), "every worker ended by itself"
		}
		return r
	}
	var texts []string
	for _, l := range all {
		texts = append(texts, lossText(p.evidence, l))
	}
	r.Observed, r.Outcome = new(float64(len(texts))), Invalid
	r.Detail, r.Advice = joinFirst(texts, 3), all[0].advice()
	// The run may have been stopped before the first worker was lost.
	first := all[0]
	before := first.Source != stopper(p.evidence) && (first.at.IsZero() || !first.at.Before(p.Facts.Ended))
	if why := p.stopReason(); before && why != "" {
		r.Detail, r.Advice = fmt.Sprintf("the run was stopped (%s), then %s", why, r.Detail), removeStop
	}
	return r
}

// loss is a worker that did not end by itself.
type loss struct {
	record.Worker
	at time.Time // when that was noticed; zero: not known
}

// losses are those among the plan's workers, earliest first: the first one stops the run, so
// that later ones may be its consequences. Where it is not known when they were noticed, they
// come last, by number.
func losses(e *evidence) (all []loss) {
	stopper := stopper(e)
	for _, source := range e.workers() {
		if !isLost(e, source) {
			continue
		}
		l := loss{Worker: factsOf(e, source)}
		if l.Pod != nil {
			l.at = l.Pod.At
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

// isLost reports whether a worker did not end by itself.
func isLost(e *evidence, source string) bool {
	w := factsOf(e, source)
	return w.Exit == record.ExitLost || wasKilled(w) || w.Pod != nil && (w.Pod.Reason != "" || w.Pod.Restarts > 0)
}

func wasKilled(w record.Worker) bool { return strings.HasPrefix(w.Exit, "signal:") }

// stopper is the worker whose end stopped the run; empty: no worker's did.
func stopper(e *evidence) string {
	first, _, _ := strings.Cut(e.Facts.Stopped, " ") // "worker/1 ended: signal: killed"
	if first = strings.TrimSuffix(first, ":"); metric.IsWorker(first) {
		return first
	}
	return ""
}

// factsOf is how a worker ended; zero: not recorded.
func factsOf(e *evidence, source string) record.Worker {
	for _, w := range e.Facts.Workers {
		if w.Source == source {
			return w
		}
	}
	return record.Worker{}
}

// lossText says of a worker that it was lost, when, where and why.
func lossText(e *evidence, l loss) string {
	var notes []string
	who, why := workerName(e, l.Source), ""
	if pod := podText(e, l.Source); pod != "" {
		who, notes = l.Source, []string{pod}
	}
	pod := l.pod()
	if pod.ExitCode != nil {
		notes = append(notes, fmt.Sprintf("exit code %d", *pod.ExitCode))
	}
	if wasKilled(l.Worker) {
		notes = append(notes, l.Exit)
	}
	if pod.Restarts > 0 && !l.onlyRestarted() {
		notes = append(notes, "restarted "+timesText(pod.Restarts))
	}
	switch {
	case pod.Reason != "":
		why = pod.Message
	case l.Exit == record.ExitLost:
		why = l.Error
	}
	text := who + " " + l.happened() + sinceStart(e, l.at)
	if len(notes) > 0 {
		text += " (" + strings.Join(notes, ", ") + ")"
	}
	if why = strings.TrimRight(strings.Join(strings.Fields(why), " "), "."); why != "" {
		text += ": " + why
	}
	return text
}

// pod is the worker's; zero: it had none, or nothing is known of it.
func (l loss) pod() record.Pod {
	if l.Pod == nil {
		return record.Pod{}
	}
	return *l.Pod
}

// onlyRestarted reports whether nothing else is known than that its container was
// restarted.
func (l loss) onlyRestarted() bool {
	return l.Pod != nil && l.Pod.Reason == "" && l.Exit != record.ExitLost && !wasKilled(l.Worker)
}

// happened says what happened to the worker, which is the subject.
func (l loss) happened() string {
	switch reason := l.pod().Reason; {
	case l.onlyRestarted():
		return "was restarted " + timesText(l.Pod.Restarts)
	case reason == "" && wasKilled(l.Worker):
		return "was killed"
	case reason == "":
		return "was lost"
	case reason == record.ReasonOutOfMemory:
		return "ran out of memory (" + reason + ")"
	case reason == record.ReasonEvicted, reason == record.ReasonPreempted, reason == record.ReasonDeleted:
		return "was " + strings.ToLower(reason)
	default:
		return "was ended (" + reason + ")"
	}
}

// advice is what to do about the loss.
func (l loss) advice() string {
	switch reason := l.pod().Reason; {
	case l.onlyRestarted():
		return "Read what its first container printed (kubectl logs --previous), remove what ended it, then run again."
	case reason == "":
		return "Look on the worker's host and in its log for what ended it, such as a lack of memory, or cut it off, then run again."
	case reason == record.ReasonOutOfMemory:
		return "Give each worker more memory (--kubernetes-memory), or use more workers (--workers)."
	case reason == record.ReasonEvicted, reason == record.ReasonPreempted:
		return "Give the workers' pods a priority class, or use nodes with room for them."
	case reason == record.ReasonDeleted:
		return "Find out who deletes the workers' pods, such as an autoscaler or the drain of a node, and prevent it during runs."
	}
	return "Look at the events of the pod and of its node for what ended it, then run again."
}

// podText names a worker's pod and its node; empty: it was not in a cluster.
func podText(e *evidence, source string) string {
	pod, node := podOf(e, source)
	switch {
	case pod == "":
		return ""
	case node == "":
		return "pod " + pod
	}
	return "pod " + pod + " on node " + node
}

// podOf is a worker's pod, NAMESPACE/NAME, and the node that it ran on; empty: not in a
// cluster, or not known.
func podOf(e *evidence, source string) (pod, node string) {
	for _, w := range e.Environment.Workers {
		if w.Source == source {
			pod, node = w.Pod, w.Node
		}
	}
	if p := factsOf(e, source).Pod; p != nil {
		pod, node = cmp.Or(pod, p.Name), cmp.Or(node, p.Node)
	}
	return pod, node
}

// sinceStart is " 31 s after the start"; empty: the time is not known.
func sinceStart(e *evidence, at time.Time) string {
	if at.IsZero() || e.Facts.T0.IsZero() {
		return ""
	}
	s := int64(at.Sub(e.Facts.T0).Round(time.Second) / time.Second)
	if s < 0 {
		return fmt.Sprintf(" %d s before the start", -s)
	}
	return fmt.Sprintf(" %d s after the start", s)
}

func timesText(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
