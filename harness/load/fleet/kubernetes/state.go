package kubernetes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"assay/harness/cluster"
	"assay/harness/observe/record"
)

// runnerContainer is the name of the worker's container in pods of the k6-operator.
const runnerContainer = "k6"

// maxMessage bounds what the cluster says, bytes.
const maxMessage = 300

// stateOf is what the cluster says of a worker's pod.
func stateOf(p *corev1.Pod) record.Pod {
	s := record.Pod{Name: podName(p), Node: p.Spec.NodeName, Phase: string(p.Status.Phase)}
	if c := workerContainer(p); c != nil {
		s.Restarts = int(c.RestartCount)
		if t := terminated(c); t != nil {
			s.ExitCode = new(int(t.ExitCode))
			if t.Reason != "Completed" && t.Reason != "Error" {
				s.Reason, s.Message = t.Reason, t.Message
			}
		}
	}
	if s.Reason == "" && p.Status.Reason != "" { // by the kubelet: "Evicted", ...
		s.Reason, s.Message = p.Status.Reason, p.Status.Message
	}
	if s.Reason == "" {
		s.Reason, s.Message = disruption(p)
	}
	if s.Reason == "" && p.DeletionTimestamp != nil && s.ExitCode == nil {
		s.Reason = reasonDeleted
	}
	s.Message = oneLine(s.Message)
	return s
}

// reasonDeleted is why a pod ended that was deleted by its name.
const reasonDeleted = "deleted"

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

// obstacleOf is why a worker's pod has not started; empty: it has, or nothing is known.
func obstacleOf(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("pod %s is not scheduled (%s): %s", podName(p), c.Reason, oneLine(c.Message))
		}
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return fmt.Sprintf("container %s of pod %s does not start (%s): %s", c.Name, podName(p), w.Reason, cmp.Or(oneLine(w.Message), "no reason given"))
		}
	}
	return ""
}

// addedContainers are the containers of a pod that its manifest does not have: others
// have added them, such as the proxy of a service mesh.
func addedContainers(p *corev1.Pod, own []string) (names []string) {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if !slices.Contains(own, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

func podName(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

func workerContainer(p *corev1.Pod) *corev1.ContainerStatus {
	for i, c := range p.Status.ContainerStatuses {
		if c.Name == cluster.Container || c.Name == runnerContainer {
			return &p.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// terminated is how a container ended, or ended before it was restarted; nil: it has not.
func terminated(c *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	return cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
}

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), maxMessage)]
}
