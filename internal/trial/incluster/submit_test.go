package incluster

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/testing/fake"
)

// Whatever ends a run early, nothing that it has created is left.
func TestRunRemoves(t *testing.T) {
	t.Parallel()
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("exceeded quota: small"))
	for name, c := range map[string]struct {
		refuse string // resource that cannot be created; empty: none
		err    error
		said   []string
		made   int // objects
	}{
		"interrupted before its pod has started": {
			err: context.Canceled, made: 2,
			said: []string{"created job/assay-checkout in namespace load", "interrupting the run; again: give up its record"},
		},
		"not all can be created": {refuse: "secrets", err: refused, made: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				typed, dynamic := fake.New(), dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
				var left []string
				name := func(a clienttesting.Action) string { return a.GetResource().Resource }
				dynamic.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
					if name(a) == c.refuse {
						return true, nil, refused
					}
					left = append(left, name(a))
					return false, nil, nil
				})
				made := 0
				dynamic.PrependReactor("delete", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
					made = max(made, len(left))
					left = slices.DeleteFunc(left, func(n string) bool { return n == name(a) })
					return false, nil, nil
				})
				typed.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
					if len(left) == 0 { // with its Job
						return true, &corev1.PodList{}, nil
					}
					return true, &corev1.PodList{Items: []corev1.Pod{*coordinator(corev1.PodPending, corev1.ContainerState{})}}, nil
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				time.AfterFunc(5*time.Second, cancel)
				j, dir := example(), t.TempDir()
				j.StartTimeout = time.Minute
				var said []string
				err := Run(ctx, t.Context(), &cluster.Cluster{Interface: typed, Dynamic: dynamic, Namespace: "load"}, j, dir, func(line string) { said = append(said, line) })
				if !errors.Is(err, c.err) || strings.Contains(err.Error(), "\n") || !slices.Equal(said, c.said) {
					t.Errorf("%v, said %q", err, said)
				}
				if len(left) > 0 || made != c.made {
					t.Errorf("%d objects were made, left: %q", made, left)
				}
				checkRights(t, slices.Concat(typed.Actions(), dynamic.Actions()))
			})
		})
	}
}

// A run whose cluster does not answer is left alone, also by an interrupt, with the commands
// that fetch its record and remove it: words of a shell, whatever the folder's name.
func TestRunLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		typed, dynamic := fake.New(), dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
		dynamic.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			a.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured).SetUID("own")
			return false, nil, nil
		})
		dynamic.PrependReactor("delete", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			t.Errorf("%s is deleted", a.GetResource().Resource)
			return true, nil, nil
		})
		began := time.Now()
		typed.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			if time.Since(began) > 5*time.Second {
				return true, nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
			}
			return true, &corev1.PodList{Items: []corev1.Pod{*coordinator(corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})}}, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		time.AfterFunc(10*time.Second, cancel)
		j := example()
		j.StartTimeout = time.Minute
		var said []string
		err := Run(ctx, t.Context(), &cluster.Cluster{Interface: typed, Dynamic: dynamic, Namespace: "load"}, j, "runs/ana's run", func(line string) { said = append(said, line) })
		const text = "the cluster does not answer, and the run goes on in it: find the coordinator's pod of job/assay-checkout in namespace load: dial tcp: connection refused"
		const next = `once it answers, within an hour of the run's end: mkdir -p 'runs/ana'"'"'s run'` +
			` && kubectl exec --namespace load run-abc -- assay kubernetes export | tar xz -C 'runs/ana'"'"'s run'` +
			` && kubectl delete --namespace load job/assay-checkout && assay judge 'runs/ana'"'"'s run'`
		if !isLeft(err) || err.Error() != text || hint.Of(err) != next {
			t.Errorf("%v (%s)", err, hint.Of(err))
		}
		if took := time.Since(began); took > 10*time.Second+endTimeout+time.Minute {
			t.Errorf("it took %s", took)
		}
		if want := []string{"created job/assay-checkout in namespace load", "interrupting the run; again: give up its record", text}; !slices.Equal(said, want) {
			t.Errorf("said %q", said)
		}
	})
}
