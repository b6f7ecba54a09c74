package cluster

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"assay.dev/assay/internal/mask"
)

// RunnerContainer is the name of the worker's container in pods of the k6-operator.
const RunnerContainer = "k6"

// maxMessage bounds what the cluster says, bytes.
const maxMessage = 300

// Deleted is why a pod ended that was deleted by its name.
const Deleted = "deleted"

// State is how a pod of ours fares.
type State struct {
	Reason   string // why it ended, if not by itself: "OOMKilled", "Evicted", "Preempted", Deleted, ...
	Message  string // message of the cluster
	ExitCode *int   // exit code of our container; nil: the container has not ended
	Restarts int    // restarts of our container
	Log      string // last error that our container has logged, if it failed, or else its last lines
}

// StateOf is what the cluster says of a pod.
func StateOf(p *corev1.Pod) (s State) {
	byItself := false
	if c := container(p); c != nil {
		s.Restarts = int(c.RestartCount)
		// How it ended, or ended before it was restarted.
		if t := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated); t != nil {
			s.ExitCode = new(int(t.ExitCode))
			switch t.Reason {
			case "Completed":
				byItself = t.ExitCode == 0
			case "Error":
				s.Log = lastError(t.Message) // by TerminationMessageFallbackToLogsOnError
			case "ContainerStatusUnknown": // the pod knows more
			default:
				s.Reason, s.Message = t.Reason, t.Message
			}
		}
	}
	if byItself { // whatever happened to the pod later
		return s
	}
	if c := failedInit(p); c != nil {
		s.Reason, s.Message = fmt.Sprintf("init container %s failed with exit code %d", c.Name, c.State.Terminated.ExitCode), c.State.Terminated.Message
	}
	if s.Reason == "" {
		s.Reason, s.Message = p.Status.Reason, p.Status.Message // by the kubelet: "Evicted", ...
	}
	if s.Reason == "" {
		s.Reason, s.Message = disruption(p)
	}
	if s.Reason == "" && p.DeletionTimestamp != nil && s.ExitCode == nil {
		s.Reason = Deleted
	}
	s.Message = mask.Line(s.Message, maxMessage)
	return s
}

// HasEnded reports whether our container has ended.
func HasEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded || StateOf(p).ExitCode != nil
}

// String says how the pod ended.
func (s State) String() string {
	var texts []string
	if s.Reason != "" {
		texts = append(texts, s.Reason)
	}
	if s.ExitCode != nil {
		texts = append(texts, fmt.Sprintf("exit code %d", *s.ExitCode))
	}
	text := cmp.Or(strings.Join(texts, ", "), "no reason given")
	if detail := cmp.Or(s.Message, s.Log); detail != "" {
		text += ": " + detail
	}
	return text
}

// disruption is why the cluster removed a pod; empty: it did not
// (https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions).
func disruption(p *corev1.Pod) (reason, message string) {
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.DisruptionTarget || c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Reason {
		case "EvictionByEvictionAPI":
			return "Evicted", c.Message
		case corev1.PodReasonPreemptionByScheduler:
			return "Preempted", c.Message
		}
		return c.Reason, c.Message
	}
	return "", ""
}

// Obstacle is why a pod has not started; empty: it has, or nothing is known.
func Obstacle(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("pod %s is not scheduled (%s): %s", p.Name, c.Reason, mask.Line(c.Message, maxMessage))
		}
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return fmt.Sprintf("container %s of pod %s does not start (%s): %s", c.Name, p.Name, w.Reason, cmp.Or(mask.Line(w.Message, maxMessage), "no reason given"))
		}
	}
	return ""
}

// Added are the containers of a pod that its manifest does not have: others have added
// them, such as the proxy of a service mesh.
func Added(p *corev1.Pod, own []string) (names []string) {
	for _, name := range Containers(p.Spec) {
		if !slices.Contains(own, name) {
			names = append(names, name)
		}
	}
	return names
}

// Containers are the names of a manifest's containers.
func Containers(s corev1.PodSpec) (names []string) {
	for _, c := range slices.Concat(s.InitContainers, s.Containers) {
		names = append(names, c.Name)
	}
	return names
}

func container(p *corev1.Pod) *corev1.ContainerStatus {
	for i, c := range p.Status.ContainerStatuses {
		if c.Name == Container || c.Name == RunnerContainer {
			return &p.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// failedInit is the init container that ended a pod; nil: none did.
func failedInit(p *corev1.Pod) *corev1.ContainerStatus {
	for i, c := range p.Status.InitContainerStatuses {
		if t := c.State.Terminated; p.Status.Phase == corev1.PodFailed && t != nil && t.ExitCode != 0 {
			return &p.Status.InitContainerStatuses[i]
		}
	}
	return nil
}

// lastError is the last error that this program has printed, or else the last line.
func lastError(log string) string {
	lines := strings.Split(strings.TrimSpace(mask.Text(log)), "\n")
	for _, line := range slices.Backward(lines) {
		if text, isError := strings.CutPrefix(line, "assay: "); isError {
			return mask.Line(text, maxMessage)
		}
	}
	return mask.Line(lines[len(lines)-1], maxMessage)
}

// WhyNoPods is why the cluster does not create the pods of a component of a run, such as a
// quota, a policy, or a service account that is missing; empty: not known.
func (c *Cluster) WhyNoPods(ctx context.Context, name, component string) string {
	all, err := c.CoreV1().Events(c.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedCreate,type=Warning"})
	if err != nil {
		return "" // it is only an explanation
	}
	// Recorders of two kinds note in different fields when an event was last seen.
	lastSeen := func(e corev1.Event) time.Time {
		return cmp.Or(e.LastTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time)
	}
	slices.SortStableFunc(all.Items, func(a, b corev1.Event) int { return lastSeen(b).Compare(lastSeen(a)) })
	selector := labels.SelectorFromSet(Selector(name, component))
	for _, e := range all.Items {
		of := e.InvolvedObject
		if of.Kind != "Job" || !strings.HasPrefix(of.Name, name) {
			continue
		}
		// Events outlive their Job by an hour: another one may have its name now.
		job, err := c.BatchV1().Jobs(c.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
		if err == nil && job.UID == of.UID && selector.Matches(labels.Set(job.Labels)) {
			return mask.Line(withoutSuffixes(mask.Text(e.Message), of.Name), maxMessage)
		}
	}
	return ""
}

// withoutSuffixes shortens the names of a Job's pods: each attempt to create one has a
// suffix of its own.
func withoutSuffixes(message, job string) string {
	return regexp.MustCompile(`("`+regexp.QuoteMeta(job)+`(-[0-9]+)?)-[a-z0-9]{5}"`).ReplaceAllString(message, `$1"`)
}
