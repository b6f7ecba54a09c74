package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/testing/fake"
)

// Clusters are reached from outside, also if the tests run in a pod.
func TestMain(m *testing.M) {
	_ = os.Unsetenv("KUBERNETES_SERVICE_HOST")
	m.Run()
}

// fakeCluster keeps objects in memory. They have UIDs.
func fakeCluster(objects ...runtime.Object) (*cluster.Cluster, *dynamicfake.FakeDynamicClient) {
	d := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
	d.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		o := a.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured)
		o.SetUID(types.UID("uid of " + o.GetName()))
		return false, nil, nil
	})
	return &cluster.Cluster{Interface: fake.New(objects...), Dynamic: d, Namespace: "load"}, d
}

var (
	secrets = corev1.SchemeGroupVersion.WithResource("secrets")
	refused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
)

func secret() *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: "run", Namespace: "load", Annotations: map[string]string{"of": "a patch"}},
	}
}

func TestCreateAndRemove(t *testing.T) {
	t.Parallel()
	c, d := fakeCluster()
	owner := metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "run", UID: "1"}
	got, err := c.Create(t.Context(), secret(), &owner)
	want := metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: "run", UID: "uid of run"}
	if err != nil || *got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	o, err := d.Resource(secrets).Namespace("load").Get(t.Context(), "run", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]metav1.OwnerReference{owner}, o.GetOwnerReferences()); diff != "" || o.GetAnnotations()["of"] != "a patch" {
		t.Errorf("annotations %v, owners (-want +got):\n%s", o.GetAnnotations(), diff)
	}
	if _, err := c.Create(t.Context(), secret(), nil); !apierrors.IsAlreadyExists(err) || !strings.Contains(hint.Of(err), "--kubernetes-name") {
		t.Errorf("a second object: %v (%s)", err, hint.Of(err))
	}
	if err := c.Remove(t.Context(), *got); err != nil {
		t.Error(err)
	}
	if _, err := d.Resource(secrets).Namespace("load").Get(t.Context(), "run", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after its removal: %v", err)
	}
	if err := c.Remove(t.Context(), *got); err != nil {
		t.Errorf("removed again: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Create(ctx, secret(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after an interrupt: %v", err)
	}
}

// An object whose creation was not answered is there once, and belongs to its creator.
func TestCreateAnswerLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, d := fakeCluster()
		requests, lookups := 0, 0
		d.PrependReactor("create", "secrets", func(a clienttesting.Action) (bool, runtime.Object, error) {
			requests++
			switch requests {
			case 1: // never arrived
				return true, nil, refused
			case 2: // arrived
				if err := d.Tracker().Create(secrets, a.(clienttesting.CreateAction).GetObject(), "load"); err != nil {
					t.Error(err)
				}
				return true, nil, fmt.Errorf("Post: %w", syscallReset())
			}
			return false, nil, nil
		})
		d.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			lookups++
			return lookups == 1, nil, refused
		})
		got, err := c.Create(t.Context(), secret(), nil)
		if err != nil || got.Name != "run" || requests != 4 {
			t.Errorf("%+v after %d requests: %v", got, requests, err)
		}
		// One that another run has made in the meantime is not taken for one's own.
		c, d = fakeCluster()
		if _, err := c.Create(t.Context(), secret(), nil); err != nil {
			t.Fatal(err)
		}
		requests = 0
		d.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			requests++
			return requests == 1, nil, refused
		})
		if _, err := c.Create(t.Context(), secret(), nil); !apierrors.IsAlreadyExists(err) {
			t.Errorf("of another run: %v", err)
		}
	})
}

func syscallReset() error { return &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET} }

// A request is repeated for a minute, if it may succeed, and not after the end of ctx.
func TestRetry(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Resource: "jobs"}
	for name, c := range map[string]struct {
		err   error
		lasts time.Duration
	}{
		"refused":         {refused, time.Minute},
		"reset":           {syscallReset(), time.Minute},
		"no such host":    {&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, time.Minute},
		"connection lost": {errors.New("http2: client connection lost"), time.Minute},
		"unavailable":     {apierrors.NewServiceUnavailable("starting"), time.Minute},
		"overloaded":      {apierrors.NewTooManyRequests("later", 1), time.Minute},
		"forbidden":       {apierrors.NewForbidden(resource, "run", errors.New("no")), 0},
		"not found":       {apierrors.NewNotFound(resource, "run"), 0},
		"invalid":         {apierrors.NewBadRequest("no"), 0},
		"another":         {errors.New("x509: unknown authority"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				client := &cluster.Cluster{}
				err := client.Retry(t.Context(), func(context.Context) error { return c.err })
				if took := time.Since(began); !errors.Is(err, c.err) || took < c.lasts || took > c.lasts+time.Second {
					t.Errorf("%v after %s", err, took)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				began = time.Now()
				_ = client.Retry(ctx, func(context.Context) error { return c.err })
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("it went on for %s after its context had ended", took-10*time.Second)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := new(cluster.Cluster).Retry(t.Context(), func(ctx context.Context) error { // a server that answers nothing
			<-ctx.Done()
			return ctx.Err()
		})
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 2*time.Minute {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// An API server that was away refuses all requests for a while: they are repeated, as
// long as that is likely to be why.
func TestRetryAfterRestart(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "run", errors.New("no"))
	for name, refusedFor := range map[string]time.Duration{"soon": 5 * time.Second, "never": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, c := time.Now(), new(cluster.Cluster)
				const away = 20 * time.Second
				err := c.Retry(t.Context(), func(context.Context) error {
					switch gone := time.Since(began); {
					case gone < away:
						return refused
					case gone < away+refusedFor:
						return forbidden
					}
					return nil
				})
				took := time.Since(began)
				if name == "soon" && (err != nil || took < 25*time.Second) || name == "never" && (!apierrors.IsForbidden(err) || took > time.Minute) {
					t.Errorf("%v after %s", err, took)
				}
			})
		})
	}
}

// The pods of a release of another tool, which has the name of a run, are not ours.
func TestPodsOfOthers(t *testing.T) {
	t.Parallel()
	pod := func(uid types.UID, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: string(uid), UID: uid, Namespace: "load", Labels: labels}}
	}
	helm := cluster.Labels("shop", cluster.Worker)
	helm["app.kubernetes.io/managed-by"], helm["app.kubernetes.io/name"] = "Helm", "shop"
	ours := cluster.Labels("shop", cluster.Worker)
	c, _ := fakeCluster(pod("helm", helm), pod("ours", ours), pod("other", cluster.Labels("till", cluster.Worker)))
	got, err := c.Pods(t.Context(), "shop")
	if err != nil || len(got) != 1 || got[0] != "ours" {
		t.Errorf("%v, %v", got, err)
	}
	selector := labels.SelectorFromSet(cluster.Selector("shop", cluster.Worker))
	if selector.Matches(labels.Set(helm)) || !selector.Matches(labels.Set(ours)) {
		t.Errorf("%s", selector)
	}
	if err := c.AwaitGone(t.Context(), "shop", got); err != nil {
		t.Error(err)
	}
}

// Remove returns when the object is gone, within its context.
func TestRemoveWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, d := fakeCluster()
		o, err := c.Create(t.Context(), secret(), nil)
		if err != nil {
			t.Fatal(err)
		}
		d.PrependReactor("delete", "secrets", func(a clienttesting.Action) (bool, runtime.Object, error) {
			with := a.(clienttesting.DeleteActionImpl).DeleteOptions
			if with.Preconditions == nil || *with.Preconditions.UID != o.UID || *with.PropagationPolicy != metav1.DeletePropagationForeground {
				t.Errorf("deleted with %+v", with)
			}
			return true, nil, nil // its finalizers are not done
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = c.Remove(ctx, *o)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "remove secret/run: it is still being deleted") || hint.Of(err) == "" {
			t.Errorf("%v (%s)", err, hint.Of(err))
		}
		o.UID = "of one that had the same name"
		d.PrependReactor("delete", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewConflict(secrets.GroupResource(), "run", errors.New("the UID in the precondition does not match"))
		})
		if err := c.Remove(t.Context(), *o); err != nil {
			t.Errorf("of another: %v", err)
		}
	})
}

// Errors of the API are one line, with the next step where there is one.
func TestExplain(t *testing.T) {
	t.Parallel()
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	forbiddenTo := func(user string) error {
		return apierrors.NewForbidden(jobs, "run", fmt.Errorf(`User %q cannot create resource "jobs" in API group "batch" in the namespace "load"`, user))
	}
	for next, err := range map[string]error{
		"assay kubernetes rbac --kubernetes-namespace load --subject user:ana | kubectl apply -f -": forbiddenTo("ana"),
		"--subject serviceaccount:ci | kubectl":                                                     forbiddenTo("system:serviceaccount:load:ci"),
		"--subject user:system:serviceaccount:other:ci | kubectl":                                   forbiddenTo("system:serviceaccount:other:ci"),
		"":                              apierrors.NewForbidden(jobs, "run", errors.New("admission webhook \"policy\" denied the request:\n\n  you cannot do this\n")),
		"--kubernetes-name":             apierrors.NewAlreadyExists(jobs, "run"),
		"kubectl auth whoami":           apierrors.NewUnauthorized("Unauthorized"),
		"kubectl create namespace load": apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "load"),
		"install the k6-operator":       apierrors.NewGenericServerResponse(404, "post", schema.GroupResource{}, "", "", 0, true),
		"--kubernetes-patch":            apierrors.NewInvalid(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(), "run", nil),
	} {
		client := fake.New()
		client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
			review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
			asked := review.Spec.ResourceAttributes
			review.Status.Allowed = asked.Resource != "jobs" || asked.Group != "batch" || asked.Verb != "create" || !strings.Contains(err.Error(), " cannot create resource ")
			return true, review, nil
		})
		client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
			_, rest, _ := strings.Cut(err.Error(), `User "`)
			user, _, _ := strings.Cut(rest, `"`)
			return true, &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: user}}}, nil
		})
		got := (&cluster.Cluster{Interface: client, Namespace: "load"}).Explain("create testrun/run", err)
		if text := got.Error(); strings.Contains(text, "\n") || !strings.HasPrefix(text, "create testrun/run in namespace load: ") || !errors.Is(got, err) {
			t.Errorf("%q", text)
		}
		if !strings.Contains(hint.Of(got), next) || next == "" && hint.Of(got) != "" {
			t.Errorf("%v: hint %q, want %q", got, hint.Of(got), next)
		}
	}
}
