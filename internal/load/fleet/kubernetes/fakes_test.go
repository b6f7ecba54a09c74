package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/testing/fake"
	"assay.dev/assay/internal/testing/polltest"
)

// fakes are the clients of a cluster in memory, without controllers: tests make the pods.
type fakes struct {
	*cluster.Cluster
	typed   *fake.Clients
	dynamic *dynamicfake.FakeDynamicClient
	created []string // "KIND/NAME of UID", the owner's

	started   bool          // a fleet
	watched   chan struct{} // closed when its pods are watched
	creations []clienttesting.Action
	names     []string
}

func newFakes() *fakes {
	f := &fakes{typed: fake.New(), dynamic: dynamicfake.NewSimpleDynamicClient(scheme.Scheme), watched: make(chan struct{})}
	f.dynamic.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		o := a.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured)
		o.SetUID(types.UID(o.GetKind()))
		text := o.GetKind() + "/" + o.GetName()
		for _, owner := range o.GetOwnerReferences() {
			text += " of " + string(owner.UID)
		}
		f.created, f.names, f.creations = append(f.created, text), append(f.names, o.GetName()), append(f.creations, a)
		return false, nil, nil
	})
	watched := sync.OnceFunc(func() { close(f.watched) })
	f.typed.PrependWatchReactor("pods", func(a clienttesting.Action) (bool, watch.Interface, error) {
		defer watched()
		w, err := f.typed.Tracker().Watch(a.GetResource(), a.GetNamespace())
		return true, w, err
	})
	// The two clients have different objects: a real Job is one of both.
	f.typed.PrependReactor("patch", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) { return true, &batchv1.Job{}, nil })
	f.Cluster = &cluster.Cluster{Interface: f.typed, Dynamic: f.dynamic, Namespace: "load"}
	return f
}

func (f *fakes) start(t *testing.T, workers int, operator bool) *Fleet {
	t.Helper()
	s, l := example(operator)
	l.Workers = workers
	f.started = true
	w, err := Engine{Settings: s, Cluster: f.Cluster, Owner: &metav1.OwnerReference{UID: "coordinator"}}.Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w.(*Fleet)
}

// left are the objects that are not removed.
func (f *fakes) left() (texts []string) {
	for i, a := range f.creations {
		if _, err := f.dynamic.Tracker().Get(a.GetResource(), a.GetNamespace(), f.names[i]); err == nil {
			texts = append(texts, f.created[i])
		}
	}
	return texts
}

// workerPod is a worker's pod that runs.
func workerPod(i int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("w", i), Namespace: "load", Labels: cluster.Labels("assay-checkout", cluster.Worker)}}
	p.Spec.NodeName, p.Spec.Containers = fmt.Sprint("n", i), []corev1.Container{{Name: cluster.Container}}
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: cluster.Container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	return p
}

func end(p *corev1.Pod, reason string, code int32) {
	p.Status.Phase = corev1.PodFailed
	p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code, Message: "assay: it says why\n"}}
}

// put makes or changes pods. It waits until those of a fleet that was started are watched:
// a watch in memory misses what happened before.
func (f *fakes) put(t *testing.T, all ...*corev1.Pod) {
	t.Helper()
	if f.started {
		<-f.watched
	}
	for _, p := range all {
		err := f.typed.Tracker().Update(pods, p.DeepCopy(), p.Namespace)
		if apierrors.IsNotFound(err) {
			err = f.typed.Tracker().Create(pods, p.DeepCopy(), p.Namespace)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

var pods = corev1.SchemeGroupVersion.WithResource("pods")

func (f *fakes) remove(t *testing.T, p *corev1.Pod) {
	t.Helper()
	if err := f.typed.Tracker().Delete(pods, "load", p.Name); err != nil {
		t.Fatal(err)
	}
}

func (f *Fleet) knows(t *testing.T, condition string, is func(map[string]*pod) bool) {
	t.Helper()
	polltest.Until(t, condition, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return is(f.pods)
	})
}

// checkRights fails if a request needs more than the printed Role of coordinators grants.
func (f *fakes) checkRights(t *testing.T) {
	t.Helper()
	all, err := cluster.RBAC("load", "", "user:ana")
	if err != nil {
		t.Fatal(err)
	}
	var rules []rbacv1.PolicyRule
	for _, o := range all {
		if r, isRole := o.(*rbacv1.Role); isRole && r.Name == cluster.CoordinatorAccount {
			rules = r.Rules
		}
	}
	for _, a := range slices.Concat(f.typed.Actions(), f.dynamic.Actions()) {
		verb, resource := strings.ReplaceAll(a.GetVerb(), "-", ""), a.GetResource()
		if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.APIGroups, resource.Group) && slices.Contains(r.Resources, resource.Resource) && slices.Contains(r.Verbs, verb)
		}) {
			t.Errorf("the Role does not grant %s %s", verb, resource)
		}
	}
}
