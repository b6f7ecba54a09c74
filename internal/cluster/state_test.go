package cluster

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ended is a pod whose container has ended.
func ended(reason string, code int32, message string) *corev1.Pod {
	p := &corev1.Pod{}
	p.Status.Phase = corev1.PodFailed
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: Container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code, Message: message}},
	}}
	return p
}

func with(p *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
	change(p)
	return p
}

// disrupted adds what the cluster notes of a pod that it removes.
func disrupted(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: message,
		})
	}
}

func deleted(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1e9, 0)} }

func evicted(p *corev1.Pod) {
	p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
}

func TestStateOf(t *testing.T) {
	t.Parallel()
	running := func() *corev1.Pod {
		p := &corev1.Pod{}
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: Container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		return p
	}
	for name, c := range map[string]struct {
		pod   *corev1.Pod
		want  State
		ended bool
		text  string
	}{
		"no status yet":        {&corev1.Pod{}, State{}, false, "no reason given"},
		"running":              {running(), State{}, false, "no reason given"},
		"ended as planned":     {ended("Completed", 0, ""), State{ExitCode: new(0)}, true, "exit code 0"},
		"and then deleted":     {with(ended("Completed", 0, ""), deleted), State{ExitCode: new(0)}, true, "exit code 0"},
		"and then disrupted":   {with(ended("Completed", 0, ""), disrupted("DeletionByTaintManager", "x")), State{ExitCode: new(0)}, true, "exit code 0"},
		"out of memory":        {ended("OOMKilled", 137, ""), State{Reason: "OOMKilled", ExitCode: new(137)}, true, "OOMKilled, exit code 137"},
		"out of memory, twice": {with(ended("OOMKilled", 137, ""), evicted), State{Reason: "OOMKilled", ExitCode: new(137)}, true, "OOMKilled, exit code 137"},
		"cannot be started": {
			ended("StartError", 128, "exec: \"assay\":\n  not found"),
			State{Reason: "StartError", ExitCode: new(128), Message: `exec: "assay": not found`},
			true, `StartError, exit code 128: exec: "assay": not found`,
		},
		"evicted by its node": {
			with(&corev1.Pod{}, evicted), State{Reason: "Evicted", Message: "The node was low on resource: memory."}, true, "Evicted: The node was low on resource: memory.",
		},
		"evicted, its container not found any more": {
			with(ended("ContainerStatusUnknown", 137, "The container could not be located when the pod was terminated"), evicted),
			State{Reason: "Evicted", ExitCode: new(137), Message: "The node was low on resource: memory."},
			true, "Evicted, exit code 137: The node was low on resource: memory.",
		},
		"evicted through the API": {
			with(ended("Error", 105, ""), disrupted("EvictionByEvictionAPI", "Eviction API: evicting")),
			State{Reason: "Evicted", ExitCode: new(105), Message: "Eviction API: evicting"},
			true, "Evicted, exit code 105: Eviction API: evicting",
		},
		"preempted, runs on": {
			with(running(), disrupted("PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod")),
			State{Reason: "Preempted", Message: "default-scheduler: preempting to accommodate a higher priority pod"},
			false, "",
		},
		"by another disruption": {with(running(), disrupted("DeletionByPodGC", "PodGC: node no longer exists")), State{Reason: "DeletionByPodGC", Message: "PodGC: node no longer exists"}, false, ""},
		"not disrupted after all": {
			with(running(), func(p *corev1.Pod) {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse, Reason: "PreemptionByScheduler"}}
			}), State{}, false, "",
		},
		"its init container has failed": {
			with(&corev1.Pod{}, func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodFailed
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{
					{Name: "ready", State: ended("Completed", 0, "").Status.ContainerStatuses[0].State},
					{Name: "certificates", State: ended("Error", 3, "no\nsuch file").Status.ContainerStatuses[0].State},
				}
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: Container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}}
			}),
			State{Reason: "init container certificates failed with exit code 3", Message: "no such file"},
			true, "init container certificates failed with exit code 3: no such file",
		},
		"deleted, runs on":              {with(running(), deleted), State{Reason: Deleted}, false, "deleted"},
		"had ended when it was removed": {with(ended("Error", 2, ""), deleted), State{ExitCode: new(2)}, true, "exit code 2"},
		"an error of ours, with its log": {
			ended("Error", 2, "worker: joined\nassay: worker/0: 3 reports were not delivered\nhint: see its log\n"),
			State{ExitCode: new(2), Log: "worker/0: 3 reports were not delivered"},
			true, "exit code 2: worker/0: 3 reports were not delivered",
		},
		"an error of another program": {ended("Error", 1, "panic: x\n\ngoroutine 1\n\tmain.go:1\n\n"), State{ExitCode: new(1), Log: "main.go:1"}, true, "exit code 1: main.go:1"},
		"restarted": {
			with(running(), func(p *corev1.Pod) {
				s := &p.Status.ContainerStatuses[0]
				s.RestartCount, s.LastTerminationState = 2, ended("OOMKilled", 137, "").Status.ContainerStatuses[0].State
			}), State{Reason: "OOMKilled", ExitCode: new(137), Restarts: 2}, true, "OOMKilled, exit code 137",
		},
		"ended, its sidecar runs": {
			with(ended("Completed", 0, ""), func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodRunning
				p.Status.ContainerStatuses = append([]corev1.ContainerStatus{{Name: "istio-proxy", RestartCount: 3, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}, p.Status.ContainerStatuses...)
			}), State{ExitCode: new(0)}, true, "exit code 0",
		},
		"only its sidecar has ended": {
			with(running(), func(p *corev1.Pod) {
				p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "istio-proxy", State: ended("Error", 1, "").Status.ContainerStatuses[0].State})
			}), State{}, false, "",
		},
		"a runner of the k6-operator": {
			with(ended("OOMKilled", 137, ""), func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Name = RunnerContainer }),
			State{Reason: "OOMKilled", ExitCode: new(137)},
			true, "OOMKilled, exit code 137",
		},
	} {
		got := StateOf(c.pod)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if HasEnded(c.pod) != c.ended {
			t.Errorf("%s: ended is %t", name, !c.ended)
		}
		if c.text != "" && got.String() != c.text {
			t.Errorf("%s: %q, want %q", name, got, c.text)
		}
	}
}

// What the cluster says is one line of bounded length.
func TestStateOfLongMessage(t *testing.T) {
	t.Parallel()
	for shift := range 4 {
		text := strings.Repeat("x", shift) + strings.Repeat("\n 界", maxMessage)
		got := StateOf(ended("OOMKilled", 137, text)).Message
		if len(got) > maxMessage || len(got) < maxMessage-4 || strings.Contains(got, "\n") || !utf8.ValidString(got) {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
}

func TestObstacle(t *testing.T) {
	t.Parallel()
	waiting := func(name, reason, message string) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}
	}
	for want, status := range map[string]corev1.PodStatus{
		"": {ContainerStatuses: waiting("assay", "ContainerCreating", "")},
		"pod p is not scheduled (Unschedulable): 0/3 nodes are available: 3 Insufficient cpu.": {
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available:\n3 Insufficient cpu."}},
		},
		`container assay of pod p does not start (ErrImagePull): failed to pull "x:1": not found`: {
			Conditions:        []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}},
			ContainerStatuses: waiting("assay", "ErrImagePull", `failed to pull "x:1": not found`),
		},
		`container assay of pod p does not start (CreateContainerConfigError): secret "shop" not found`: {
			ContainerStatuses: waiting("assay", "CreateContainerConfigError", `secret "shop" not found`),
		},
		"container istio-init of pod p does not start (CrashLoopBackOff): no reason given": {
			InitContainerStatuses: waiting("istio-init", "CrashLoopBackOff", ""), ContainerStatuses: waiting("assay", "PodInitializing", ""),
		},
	} {
		if got := Obstacle(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: status}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAdded(t *testing.T) {
	t.Parallel()
	manifest := corev1.PodSpec{InitContainers: []corev1.Container{{Name: "wait"}}, Containers: []corev1.Container{{Name: Container}}}
	p := &corev1.Pod{Spec: *manifest.DeepCopy()}
	own := Containers(manifest)
	if got := Added(p, own); got != nil {
		t.Errorf("%q were added to its own containers", got)
	}
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "istio-proxy"})
	always := corev1.ContainerRestartPolicyAlways // a sidecar that Kubernetes knows as one
	p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "linkerd-proxy", RestartPolicy: &always})
	if got, want := Added(p, own), []string{"linkerd-proxy", "istio-proxy"}; !slices.Equal(got, want) {
		t.Errorf("%q were added, want %q", got, want)
	}
}
