package kubernetes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/polltest"
)

// The end of each pod is told once, and why it ended is kept.
func TestFleetEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakes()
		f := c.start(t, 4, false)
		if want := []string{"Job/assay-checkout-workers of coordinator", "Secret/assay-checkout-workers of Job", "NetworkPolicy/assay-checkout-workers of Job"}; !slices.Equal(c.created, want) {
			t.Errorf("created %q, want %q", c.created, want)
		}
		byItself, outOfMemory, drained, vanished := workerPod(0), workerPod(1), workerPod(2), workerPod(3)
		all := []*corev1.Pod{byItself, outOfMemory, drained, vanished}
		c.put(t, all...)
		f.knows(t, "all pods run", func(pods map[string]*pod) bool { return len(pods) == 4 })
		end(byItself, "Error", 2)
		end(outOfMemory, "OOMKilled", 137)
		drained.DeletionTimestamp = &metav1.Time{Time: time.Unix(1e9, 0)}
		c.put(t, all...)
		f.knows(t, "the deletion", func(pods map[string]*pod) bool { return pods["load/w2"].state.Reason == cluster.Deleted })
		end(drained, "Error", 105)
		c.put(t, all...)
		c.remove(t, vanished)
		want := map[string]fleet.Ended{
			"load/w0": {Pod: "load/w0", Status: "2", Output: "it says why"},
			"load/w1": {Pod: "load/w1", Status: "137", Output: "OOMKilled: assay: it says why"},
			"load/w2": {Pod: "load/w2", Status: "105", Output: "deleted"},
			"load/w3": {Pod: "load/w3", Status: fleet.Lost, Output: "deleted"},
		}
		got := map[string]fleet.Ended{}
		for range all {
			e := <-f.Ended()
			got[e.Pod] = e
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		// Their Job is removed: nothing new.
		for _, p := range all[:3] {
			c.remove(t, p)
		}
		facts := f.Pods(t.Context())
		wantFacts := map[string]record.Pod{
			"load/w0": {Name: "load/w0", Node: "n0", Phase: "Failed", ExitCode: new(2)},
			"load/w1": {Name: "load/w1", Node: "n1", Phase: "Failed", Reason: "OOMKilled", Message: "assay: it says why", ExitCode: new(137)},
			"load/w2": {Name: "load/w2", Node: "n2", Phase: "Failed", Reason: "deleted", ExitCode: new(105)},
			"load/w3": {Name: "load/w3", Node: "n3", Phase: "Running", Reason: "deleted"},
		}
		if diff := cmp.Diff(wantFacts, facts, cmpopts.IgnoreFields(record.Pod{}, "At")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for name, p := range facts {
			if p.At.IsZero() != (p.Reason == "") {
				t.Errorf("%s: %q at %s", name, p.Reason, p.At)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if left := c.left(); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
		select {
		case e := <-f.Ended():
			t.Errorf("told twice: %+v", e)
		default:
		}
		c.checkRights(t)
	})
}

// Pods that Kill ends were not lost before.
func TestFleetKill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakes()
		f := c.start(t, 1, true)
		p := workerPod(0)
		p.Status.ContainerStatuses[0].Name = cluster.RunnerContainer
		_, l := example(true)
		p.Labels = runnerLabels("assay-checkout", l.Run)
		c.put(t, p)
		f.knows(t, "the pod runs", func(pods map[string]*pod) bool { return len(pods) == 1 })
		c.typed.PrependReactor("delete-collection", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
			with := a.(clienttesting.DeleteCollectionActionImpl)
			if g := with.DeleteOptions.GracePeriodSeconds; g == nil || *g != 0 || with.ListRestrictions.Labels.String() != f.selection().LabelSelector {
				t.Errorf("deleted with %+v", with)
			}
			c.remove(t, p)
			return true, nil, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if got := f.Pods(ctx); len(got) != 1 || got["load/w0"].Reason != "" {
			t.Errorf("of a pod that runs: %+v", got)
		}
		f.Kill()
		if e := <-f.Ended(); e != (fleet.Ended{Pod: "load/w0", Status: "signal: killed"}) {
			t.Errorf("%+v", e)
		}
		if got := f.Pods(t.Context())["load/w0"]; got.Reason != "" {
			t.Errorf("%+v", got)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		c.checkRights(t)
	})
}

// Pods of an earlier run of the same name that are still ending are not the fleet's.
func TestFleetOfEarlierRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, operator := range []bool{false, true} {
			c := newFakes()
			_, l := example(operator)
			earlier, own := workerPod(0), workerPod(1)
			if operator {
				earlier.Labels, own.Labels = runnerLabels("assay-checkout", "earlier"), runnerLabels("assay-checkout", l.Run)
			} else {
				earlier.Labels[batchv1.ControllerUidLabel], own.Labels[batchv1.ControllerUidLabel] = "earlier", "Job" // as fakes name it
			}
			c.put(t, earlier, own)
			f := c.start(t, 1, operator)
			f.knows(t, "the fleet's pod runs", func(pods map[string]*pod) bool { return pods["load/w1"] != nil })
			f.mu.Lock()
			if len(f.pods) != 1 {
				t.Errorf("%d pods", len(f.pods))
			}
			f.mu.Unlock()
		}
	})
}

// The record has the words of the cluster for why a pod ended, which the verdict knows.
func TestReasons(t *testing.T) {
	t.Parallel()
	disrupted := func(reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason}}
		}
	}
	for want, changes := range map[string][]func(*corev1.Pod){
		record.ReasonOutOfMemory: {func(p *corev1.Pod) { end(p, "OOMKilled", 137) }},
		record.ReasonEvicted:     {disrupted("EvictionByEvictionAPI"), func(p *corev1.Pod) { p.Status.Reason = "Evicted" }},
		record.ReasonPreempted:   {disrupted(corev1.PodReasonPreemptionByScheduler)},
		record.ReasonDeleted:     {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1e9, 0)} }},
	} {
		for i, change := range changes {
			p := workerPod(0)
			change(p)
			if got := cluster.StateOf(p).Reason; got != want {
				t.Errorf("%s, %d: the cluster's reason is %q", want, i, got)
			}
		}
	}
	if cluster.Deleted != record.ReasonDeleted {
		t.Errorf("%q", cluster.Deleted)
	}
}

// If an object cannot be created, those before it are removed.
func TestFleetStartFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, operator := range []bool{false, true} {
			resources := []string{"jobs", "secrets", "networkpolicies"}
			if operator {
				resources = []string{"testruns", "secrets", "configmaps", "networkpolicies"}
			}
			for i, resource := range resources {
				c := newFakes()
				refused := apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("exceeded quota: small"))
				c.dynamic.PrependReactor("create", resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refused })
				s, l := example(operator)
				w, err := Engine{Settings: s, Cluster: c.Cluster}.Start(t.Context(), l)
				if !errors.Is(err, refused) || strings.Contains(err.Error(), "\n") || w != nil {
					t.Errorf("%s: %v", resource, err)
				}
				if left := c.left(); len(c.created) != i || len(left) > 0 {
					t.Errorf("%s: created %q, left %q", resource, c.created, left)
				}
			}
		}
		c := newFakes()
		c.typed.PrependReactor("patch", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "", errors.New(`User "ana" cannot patch resource "jobs"`))
		})
		s, l := example(false)
		if _, err := (Engine{Settings: s, Cluster: c.Cluster}).Start(t.Context(), l); err == nil || !strings.Contains(err.Error(), "start the pods of job/") || len(c.left()) > 0 {
			t.Errorf("%v, left %q", err, c.left())
		}
	})
}

// Close removes what it can, and names what it cannot remove.
func TestFleetCloseFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakes()
		f := c.start(t, 1, false)
		c.dynamic.PrependReactor("delete", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no"))
		})
		err := f.Close()
		if err == nil || !strings.Contains(err.Error(), "remove secret/assay-checkout-workers in namespace load") {
			t.Error(err)
		}
		if got, want := hint.Of(err), "kubectl delete --namespace load pod,secret --selector "+cluster.ListOptions("assay-checkout", cluster.Worker).LabelSelector+" --grace-period=0 --force"; got != want {
			t.Errorf("hint %q, want %q", got, want)
		}
		if left := c.left(); !slices.Equal(left, []string{"Secret/assay-checkout-workers of Job"}) {
			t.Errorf("left %q", left)
		}
	})
}

// Pods on a node that is dead stay until they are removed without it. Until then their Job
// stays too.
func TestFleetCloseWithDeadNode(t *testing.T) {
	t.Parallel()
	for name, frees := range map[string]bool{"pods go": true, "something else keeps the Job": false} {
		synctest.Test(t, func(t *testing.T) {
			c := newFakes()
			f := c.start(t, 1, false)
			p := workerPod(0)
			p.Labels[batchv1.ControllerUidLabel] = "Job" // as fakes name it
			c.put(t, p)
			f.knows(t, "the pod runs", func(pods map[string]*pod) bool { return len(pods) == 1 })
			began, freed := time.Now(), false
			c.dynamic.PrependReactor("delete", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) { return !freed, nil, nil })
			c.typed.PrependReactor("delete-collection", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
				with := a.(clienttesting.DeleteCollectionActionImpl)
				if g := with.DeleteOptions.GracePeriodSeconds; g == nil || *g != 0 || with.ListRestrictions.Labels.String() != f.selection().LabelSelector {
					t.Errorf("%s: deleted with %+v", name, with)
				}
				if took := time.Since(began); took < endTimeout {
					t.Errorf("%s: after %s, in its grace period", name, took)
				}
				c.remove(t, p)
				freed = frees
				return true, nil, nil
			})
			err := f.Close()
			if took := time.Since(began); (err == nil) != frees || took > closeTimeout+time.Second {
				t.Errorf("%s: %v after %s", name, err, took)
			}
			if !frees && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "remove job/assay-checkout-workers: it is still being deleted") || !strings.Contains(hint.Of(err), "delete --namespace load pod,job --selector")) {
				t.Errorf("%s: %v (%s)", name, err, hint.Of(err))
			}
			freed = true // for the end of the test
		})
	}
}

func TestFleetObstacles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakes()
		c.typed.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New(`User "ana" cannot list resource "pods"`))
		})
		f := c.start(t, 1, false)
		polltest.Until(t, "it says that pods are not seen", func() bool {
			got := f.Obstacles()
			return len(got) == 1 && strings.HasPrefix(got[0], "follow the pods of assay-checkout in namespace load: ")
		})
		c = newFakes()
		f = c.start(t, 2, false)
		p := workerPod(0)
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "istio-proxy"})
		c.put(t, p)
		f.knows(t, "a pod", func(pods map[string]*pod) bool { return len(pods) == 1 })
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "assay-checkout-workers", Namespace: "load", UID: "1", Labels: cluster.Labels("assay-checkout", cluster.Worker)}}
		event := &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "load"}, InvolvedObject: corev1.ObjectReference{Kind: "Job", Name: job.Name, UID: job.UID}, Message: "exceeded quota: small",
		}
		if err := errors.Join(c.typed.Tracker().Add(job), c.typed.Tracker().Add(event)); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"1 of 2 pods were created: exceeded quota: small",
			"container assay of pod w0 does not start (ErrImagePull): not found",
			"pod load/w0 has containers that Assay did not ask for: istio-proxy",
		}
		if got := f.Obstacles(); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		c.checkRights(t)
	})
}
