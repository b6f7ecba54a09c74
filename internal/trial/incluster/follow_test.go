package incluster

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/testing/fake"
)

// stamp is a time of the log, in seconds.
func stamp(second string) string { return "2026-11-23T10:00:" + second + "Z " }

// Lines are reported once, in their order, however often the stream is interrupted.
func TestLines(t *testing.T) {
	t.Parallel()
	all := stamp("01.1") + "one\n" + stamp("01.2") + "two\n" + "no time\n\n" + stamp("02") + "\n" + stamp("02.5") + "a longer line\r\n" + stamp("03") + complete + "\n" + stamp("04") + "later\n"
	want := []string{"one", "two", "", "a longer line"}
	end := strings.Index(all, complete) + len(complete) + 1
	for cut := range end {
		for _, broken := range []error{nil, errors.New("connection reset")} {
			var got []string
			f := &follower{say: func(line string) { got = append(got, line) }}
			var first io.Reader = strings.NewReader(all[:cut])
			if broken != nil {
				first = io.MultiReader(first, iotest.ErrReader(broken))
			}
			if found, err := f.lines(first); found || err == nil {
				t.Fatalf("found in %q: %v", all[:cut], err)
			}
			// The API gives back what is of the same second.
			since := all
			if !f.last.IsZero() {
				since = all[strings.Index(all, f.last.Format("2006-01-02T15:04:05")):]
			}
			if found, err := f.lines(strings.NewReader(since)); !found || err != nil {
				t.Fatalf("not found after %q: %v", all[:cut], err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("cut after %q: %q", all[:cut], got)
			}
		}
	}
}

// A clock that is set back hides no line.
func TestLinesOfAClockSetBack(t *testing.T) {
	t.Parallel()
	f := &follower{say: func(string) {}}
	if found, _ := f.lines(strings.NewReader(stamp("10") + "one\n" + stamp("05") + complete + "\n")); !found {
		t.Error("the last line was not seen")
	}
}

// moment is what the cluster says from a time on.
type moment struct {
	after  time.Duration
	pod    *corev1.Pod // nil: none
	away   bool        // the API server does not answer
	log    string
	logErr error
}

func coordinator(phase corev1.PodPhase, state corev1.ContainerState) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "run-abc", Namespace: "load", Labels: map[string]string{batchv1.ControllerUidLabel: "own"}}}
	p.Status.Phase, p.Status.ContainerStatuses = phase, []corev1.ContainerStatus{{Name: cluster.Container, State: state}}
	return p
}

func TestFollow(t *testing.T) {
	t.Parallel()
	waiting := coordinator(corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}})
	backOff := coordinator(corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}})
	running := coordinator(corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	failed := coordinator(corev1.PodFailed, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 2, Message: "assay: nothing\n"}})
	stuck := coordinator(corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	stuck.DeletionTimestamp, stuck.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now()}, new(int64(180))
	killed := coordinator(corev1.PodFailed, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}})
	earlier := coordinator(corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	earlier.Labels = map[string]string{batchv1.ControllerUidLabel: "earlier"}
	early := stamp("01") + "payment: preflight\n"
	pods := schema.GroupResource{Resource: "pods"}
	stuck.Spec.NodeName = "node-1"
	unread := apierrors.NewInternalError(errors.New("dial tcp 10.0.0.4:10250: i/o timeout"))
	for name, c := range map[string]struct {
		moments []moment
		said    []string
		err     string        // empty: the record can be collected
		next    string        // hint of the error
		limit   time.Duration // how long the test follows; 0: 6 minutes
	}{
		"the record is complete": {
			moments: []moment{{}, {after: 5 * time.Second, pod: waiting}, {after: 9 * time.Second, pod: running, log: early + stamp("02") + complete + "\n"}},
			said:    []string{"the coordinator has not started: container assay of pod run-abc does not start (ErrImagePull): not found", "payment: preflight"},
		},
		"the API server is away": {
			moments: []moment{
				{pod: running, log: early + stamp("02") + "a part"},
				{after: 2 * time.Second, away: true},
				{after: 50 * time.Second, pod: running, log: early + stamp("02") + "a partial line\n" + stamp("03") + complete + "\n"},
			},
			said: []string{"payment: preflight", "a partial line"},
		},
		"the log is not there yet": {
			moments: []moment{{pod: running, logErr: apierrors.NewBadRequest("container is waiting to start")}, {after: time.Second, pod: running, log: stamp("02") + complete + "\n"}},
		},
		"the coordinator fails": {
			moments: []moment{{pod: running, log: early}, {after: time.Second, pod: failed, log: early + stamp("03") + "assay: target http://shop cannot be reached\n" + stamp("03.1") + "hint: start the service\n"}},
			said:    []string{"payment: preflight"}, err: "target http://shop cannot be reached", next: "start the service",
		},
		"the coordinator is killed": {
			moments: []moment{{pod: running, log: early}, {after: time.Second, pod: killed, log: early}}, said: []string{"payment: preflight"},
			err: "the coordinator's pod run-abc ended (OOMKilled, exit code 137): its record is lost", next: "kubectl describe pod --namespace load run-abc",
		},
		"its log is gone": {
			moments: []moment{{pod: failed, logErr: apierrors.NewNotFound(pods, "run-abc")}},
			err:     "the coordinator's pod run-abc ended (exit code 2: nothing): its record is lost", next: "kubectl describe pod --namespace load run-abc",
		},
		"its pod is deleted": {
			moments: []moment{{pod: running, log: early}, {after: time.Second}}, said: []string{"payment: preflight"},
			err: "the coordinator's pod of job/run was deleted: its record is lost", next: "run again; see who deletes pods: kubectl get events --namespace load",
		},
		"a pod of an earlier Job has a record": {
			moments: []moment{{pod: earlier, log: early + stamp("02") + complete + "\n"}, {after: 5 * time.Second, pod: running, log: stamp("03") + "own\n" + stamp("04") + complete + "\n"}},
			said:    []string{"own"},
		},
		"there is no pod": {moments: []moment{{}}, err: "job/run has no pod after 2m0s", next: "kubectl describe job --namespace load run"},
		"it does not start": {
			moments: []moment{{pod: waiting}}, said: []string{"the coordinator has not started: container assay of pod run-abc does not start (ErrImagePull): not found"},
			err:  "the coordinator's pod run-abc has not started after 5m0s: container assay of pod run-abc does not start (ErrImagePull): not found",
			next: "remove what keeps it from starting, or allow more time: --join-timeout 30m",
		},
		"its reasons alternate": {
			moments: []moment{{pod: waiting}, {after: time.Second, pod: backOff}, {after: 2 * time.Second, pod: waiting}, {after: 3 * time.Second, pod: backOff}, {after: 4 * time.Second, pod: running, log: stamp("02") + complete + "\n"}},
			said: []string{
				"the coordinator has not started: container assay of pod run-abc does not start (ErrImagePull): not found",
				"the coordinator has not started: container assay of pod run-abc does not start (ImagePullBackOff): no reason given",
			},
		},
		"the log may not be read": {
			moments: []moment{{pod: running, logErr: apierrors.NewForbidden(pods, "run-abc", errors.New(`User "ana" cannot get resource "pods/log"`))}},
			err:     `pods "run-abc" is forbidden: User "ana" cannot get resource "pods/log"`,
			next:    "an administrator grants what is needed with: assay kubernetes rbac --kubernetes-namespace load --subject user:ana | kubectl apply -f -",
		},
		"the API server stays away": {
			moments: []moment{{away: true}}, err: "find the coordinator's pod of job/run in namespace load: dial tcp: connection refused",
		},
		"the API server is away for long": {
			moments: []moment{
				{pod: running, log: early},
				{after: 2 * time.Second, away: true},
				{after: 8 * time.Minute, pod: running, log: early + stamp("03") + complete + "\n"},
			},
			said: []string{
				"payment: preflight",
				"the cluster does not answer, and the run goes on in it: find the coordinator's pod of job/run in namespace load: dial tcp: connection refused",
				"the cluster answers again",
			},
			limit: time.Hour,
		},
		"the API server does not come back": {
			moments: []moment{{pod: running, log: early}, {after: 2 * time.Second, away: true}},
			said: []string{
				"payment: preflight",
				"the cluster does not answer, and the run goes on in it: find the coordinator's pod of job/run in namespace load: dial tcp: connection refused",
			},
			err: "job/run has no complete record after 12m0s, the longest that it can take: its record is lost", next: "kubectl describe job --namespace load run", limit: time.Hour,
		},
		"its node is gone": {
			moments: []moment{{pod: running, log: early}, {after: time.Minute, pod: running, logErr: unread}, {after: 6 * time.Minute, pod: stuck, logErr: unread}},
			said:    []string{"payment: preflight"},
			err:     "the coordinator's pod run-abc was deleted and does not end (read the log of pod run-abc in namespace load: ", next: "see whether its node node-1 is there: kubectl describe pod --namespace load run-abc",
			limit: 10*time.Minute + 5*time.Second, // 6, and the grace period, and one
		},
		"its node is back before it is gone": {
			moments: []moment{{pod: running, log: early}, {after: time.Minute, pod: stuck, logErr: unread}, {after: 4 * time.Minute, pod: stuck, log: early + stamp("03") + complete + "\n"}},
			said:    []string{"payment: preflight"},
		},
		"its log can be read while it is being deleted": {
			moments: []moment{{pod: stuck, log: early}}, said: []string{"payment: preflight"},
			err: "context deadline exceeded",
		},
		"it never ends": {
			moments: []moment{{pod: running, log: early}}, said: []string{"payment: preflight"},
			err: "job/run has no complete record after 12m0s, the longest that it can take: its record is lost", next: "kubectl describe job --namespace load run", limit: time.Hour,
		},
		"interrupted": {moments: []moment{{pod: running, log: early}}, said: []string{"payment: preflight"}, err: "context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, began := fake.New(), time.Now()
				now := func() (last moment) {
					for _, m := range c.moments {
						if m.after <= time.Since(began) {
							last = m
						}
					}
					return last
				}
				refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
				client.PrependReactor("list", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
					switch m := now(); {
					case m.away:
						return true, nil, refused
					case m.pod != nil && a.(clienttesting.ListAction).GetListRestrictions().Labels.Matches(labels.Set(m.pod.Labels)):
						return true, &corev1.PodList{Items: []corev1.Pod{*m.pod}}, nil
					}
					return true, &corev1.PodList{}, nil
				})
				client.PrependReactor("get", "pods/log", func(clienttesting.Action) (bool, runtime.Object, error) {
					m := now()
					if m.away {
						return true, nil, refused
					}
					return true, &runtime.Unknown{Raw: []byte(m.log)}, m.logErr
				})
				client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "ana"}}}, nil
				})
				var said []string
				f := &follower{cluster: &cluster.Cluster{Interface: client, Namespace: "load"}, name: "run", job: metav1.OwnerReference{Kind: "Job", UID: "own"}, limit: 5 * time.Minute, longest: 12 * time.Minute, say: func(line string) { said = append(said, line) }}
				ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(c.limit, 6*time.Minute))
				defer cancel()
				p, err := f.follow(ctx)
				if c.err == "" && (err != nil || p == nil || p.Name != "run-abc") {
					t.Errorf("%+v, %v", p, err)
				}
				if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "\n") || hint.Of(err) != c.next) {
					t.Errorf("%v (%s), want %s (%s)", err, hint.Of(err), c.err, c.next)
				}
				if !slices.Equal(said, c.said) {
					t.Errorf("said %q, want %q", said, c.said)
				}
				checkRights(t, client.Actions())
			})
		})
	}
}

// checkRights fails if a request needs more than the printed Role of who starts runs
// grants.
func checkRights(t *testing.T, actions []clienttesting.Action) {
	t.Helper()
	all, err := cluster.RBAC("load", "", "user:ana")
	if err != nil {
		t.Fatal(err)
	}
	var rules []rbacv1.PolicyRule
	for _, o := range all {
		if r, isRole := o.(*rbacv1.Role); isRole && r.Name == "assay" {
			rules = r.Rules
		}
	}
	for _, a := range actions {
		resource := a.GetResource().Resource
		if strings.HasPrefix(resource, "selfsubject") { // the cluster's own role system:basic-user, of every account
			continue
		}
		if a.GetSubresource() != "" {
			resource += "/" + a.GetSubresource()
		}
		if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.APIGroups, a.GetResource().Group) && slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, a.GetVerb())
		}) {
			t.Errorf("the Role does not grant %s %s", a.GetVerb(), resource)
		}
	}
}
