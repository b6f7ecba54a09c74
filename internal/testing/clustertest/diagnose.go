package clustertest

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// diagnose logs what may explain a failed test: pods that do not run, warnings of the
// cluster, a program that has ended, and the last errors in the programs' logs.
func (c *Cluster) diagnose(t testing.TB) {
	t.Helper()
	if c.client != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		c.logPods(ctx, t)
		c.logWarnings(ctx, t)
	}
	if err := c.ended(); err != nil {
		t.Log(err)
	}
	for _, p := range c.running {
		// Lines of Kubernetes' own programs begin with a level.
		var failed []string
		for _, line := range strings.Split(c.logged(p.name, 200), "\n") {
			if strings.HasPrefix(line, "E") || strings.HasPrefix(line, "F") || strings.Contains(line, "level=error") {
				failed = append(failed, line)
			}
		}
		if last := failed[max(0, len(failed)-5):]; len(last) > 0 {
			t.Logf("errors of %s:\n%s", p.name, strings.Join(last, "\n"))
		}
	}
}

func (c *Cluster) logPods(ctx context.Context, t testing.TB) {
	t.Helper()
	pods, err := c.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Logf("list pods: %v", err)
		return
	}
	for _, p := range pods.Items {
		var states []string
		ready := len(p.Status.ContainerStatuses) > 0
		for _, s := range p.Status.ContainerStatuses {
			ready = ready && s.Ready
			states = append(states, s.Name+": "+s.State.String())
		}
		if p.Status.Phase == corev1.PodSucceeded || ready {
			continue
		}
		t.Logf("pod %s/%s: %s %s %s", p.Namespace, p.Name, p.Status.Phase, p.Status.Reason, strings.Join(states, ", "))
	}
}

func (c *Cluster) logWarnings(ctx context.Context, t testing.TB) {
	t.Helper()
	events, err := c.client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning})
	if err != nil {
		t.Logf("list events: %v", err)
		return
	}
	for _, e := range events.Items[max(0, len(events.Items)-20):] {
		t.Logf("event of %s %s/%s: %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Reason, e.Message)
	}
}
