// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"assay.dev/assay/internal/observe/record"
)

// lossText says of a worker that it was lost, when, where and why.
func (e *evidence) lossText(l loss) string {
	var notes []string
	who, why := e.workerName(l.Source), ""
	if pod := e.podText(l.Source); pod != "" {
		who, notes = l.Source, []string{pod}
	}
	pod := cmp.Or(l.Pod, &record.Pod{})
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
	text := who + " " + l.happened() + e.sinceStart(l.at)
	if len(notes) > 0 {
		text += " (" + strings.Join(notes, ", ") + ")"
	}
	if why = strings.TrimRight(strings.Join(strings.Fields(why), " "), "."); why != "" {
		text += ": " + why
	}
	return text
}

// onlyRestarted reports whether nothing else is known than that its container was
// restarted.
func (l loss) onlyRestarted() bool {
	return l.Pod != nil && l.Pod.Reason == "" && l.Exit != record.ExitLost && !wasKilled(l.Worker)
}

// happened says what happened to the worker, which is the subject.
func (l loss) happened() string {
	switch {
	case l.onlyRestarted():
		return "was restarted " + timesText(l.Pod.Restarts)
	case l.Pod == nil || l.Pod.Reason == "":
		if wasKilled(l.Worker) {
			return "was killed"
		}
		return "was lost"
	}
	switch reason := l.Pod.Reason; reason {
	case record.ReasonOutOfMemory:
		return "ran out of memory (" + reason + ")"
	case record.ReasonEvicted, record.ReasonPreempted, record.ReasonDeleted:
		return "was " + strings.ToLower(reason)
	default:
		return "was ended (" + reason + ")"
	}
}

// advice is what to do about the loss.
func (l loss) advice() string {
	switch {
	case l.onlyRestarted():
		return "Read what its first container printed (kubectl logs --previous), remove what ended it, then run again."
	case l.Pod == nil || l.Pod.Reason == "":
		return "Look on the worker's host and in its log for what ended it, such as a lack of memory, or cut it off, then run again."
	}
	switch l.Pod.Reason {
	case record.ReasonOutOfMemory:
		return "Give each worker more memory (--kubernetes-memory), or use more workers (--workers)."
	case record.ReasonEvicted, record.ReasonPreempted:
		return "Give the workers' pods a priority class, or use nodes with room for them."
	case record.ReasonDeleted:
		return "Find out who deletes the workers' pods, such as an autoscaler or the drain of a node, and prevent it during runs."
	}
	return "Look at the events of the pod and of its node for what ended it, then run again."
}

// podText names a worker's pod and its node; empty: it was not in a cluster.
func (e *evidence) podText(source string) string {
	pod, node := e.podOf(source)
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
func (e *evidence) podOf(source string) (pod, node string) {
	for _, w := range e.Environment.Workers {
		if w.Source == source {
			pod, node = w.Pod, w.Node
		}
	}
	if p := e.factsOf(source).Pod; p != nil {
		pod, node = cmp.Or(pod, p.Name), cmp.Or(node, p.Node)
	}
	return pod, node
}

// sinceStart is " 31 s after the start"; empty: the time is not known.
func (e *evidence) sinceStart(at time.Time) string {
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
