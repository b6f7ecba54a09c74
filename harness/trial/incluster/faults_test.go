//go:build long

package incluster_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"assay/harness/cluster"
	"assay/harness/polltest"
)

// fault is something that happens to a run in the cluster.
type fault struct {
	name    string
	args    []string                                             // besides those of a run with two workers
	profile string                                               // default: payment
	outside bool                                                 // the coordinator runs on this machine
	during  func(t *testing.T, s *shop, name string, r *running) // once the hold has begun
	code    int
	verdict string
	rule    string // id of the first rule that makes the run INVALID
	text    string // of the rule's detail, or of the error
}

// Workers whose coordinator is killed end by themselves after a while, and the cluster
// removes what is left.
var outsideKilled = fault{
	name:    "outside killed",
	outside: true,
	during: func(t *testing.T, s *shop, name string, r *running) {
		if err := r.cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		s.awaitClean(t, name, 3*time.Minute)
	},
	code: -1,
}

// testFaults checks what becomes of a run with each fault, the longest first.
func (s *shop) testFaults(t *testing.T) {
	kill := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	for _, c := range []fault{
		{
			name:    "worker throttled",
			args:    []string{"--kubernetes-patch", "throttled.yaml", "--kubernetes-cpu", "60m"},
			profile: "computing",
			code:    3, verdict: "INVALID", rule: "cpu-throttled", text: "a CPU quota throttled",
		},
		{
			name: "same name",
			during: func(t *testing.T, s *shop, name string, _ *running) {
				r := s.run(t, inCluster(2, "--kubernetes-name", name)...)
				if r.code != 2 || !strings.Contains(r.stderr, "already exists") || !strings.Contains(r.stderr, "another run of this name") {
					t.Errorf("exit code %d: %s", r.code, r.stderr)
				}
			},
			code: 0, verdict: "PASS",
		},
		{
			// Its coordinator goes on, and would keep the record for an hour.
			name: "command killed",
			during: func(t *testing.T, s *shop, name string, r *running) {
				if err := r.cmd.Process.Kill(); err != nil {
					t.Error(err)
				}
				background := metav1.DeletePropagationBackground
				if err := s.client.BatchV1().Jobs(namespace).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
					t.Error(err)
				}
				polltest.Until(t, "its workers are gone", func() bool {
					all, err := s.client.CoreV1().Pods(namespace).List(t.Context(), cluster.ListOptions(name, cluster.Worker))
					return err == nil && len(all.Items) == 0
				})
				s.pod(t, name, cluster.Coordinator) // with the record of the run that was killed
				began := time.Now().UTC().Format("20060102T150405Z")
				if r := s.decided(t, "PASS", func(*running) {}, inCluster(2, "--kubernetes-name", name)...); r.Run < began || r.Verdict != "PASS" {
					t.Errorf("run again at %s: %s, exit code %d, %s: %s %v", began, r.Run, r.code, r.Verdict, r.Claim, r.broken())
				}
				s.awaitClean(t, name, time.Minute)
			},
			code: -1,
		},
		{name: "crossed SLO", profile: "fast", code: 1, verdict: "FAIL"},
		{
			name: "worker deleted",
			during: func(t *testing.T, s *shop, name string, _ *running) {
				s.deletePod(t, s.workerPod(t, name), metav1.DeleteOptions{})
			},
			code: 3, verdict: "INVALID", rule: "worker-lost", text: "deleted",
		},
		{
			name:   "worker killed",
			during: func(t *testing.T, s *shop, name string, _ *running) { s.deletePod(t, s.workerPod(t, name), kill) },
			code:   3, verdict: "INVALID", rule: "worker-lost", text: "deleted",
		},
		{
			name: "worker evicted",
			during: func(t *testing.T, s *shop, name string, _ *running) {
				pod := s.workerPod(t, name)
				err := s.client.CoreV1().Pods(namespace).EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: namespace}})
				if err != nil {
					t.Error(err)
				}
			},
			code: 3, verdict: "INVALID", rule: "worker-lost", text: "Evicted",
		},
		{name: "worker out of memory", profile: "leaking", code: 3, verdict: "INVALID", rule: "worker-lost", text: "OOMKilled"},
		{name: "never scheduled", args: []string{"--kubernetes-cpu", "100", "--join-timeout", "15s"}, code: 2, text: "Insufficient cpu"},
		{name: "no such image", args: []string{"--kubernetes-image", "assay-test/none:1", "--join-timeout", "10s"}, code: 2, text: "assay-test/none:1"},
		{name: "no rights", args: []string{"--kubeconfig", s.accessOf(t, "default")}, code: 2, text: "system:serviceaccount:load:default may not get pods/log"},
		{name: "broken script", profile: "broken", code: 2, text: "broken.js"},
		{name: "no endpoints", args: []string{"--target", "http://empty", "--allow-target", "empty"}, code: 2, text: "no pod that is ready"},
		{
			name: "interrupted",
			during: func(t *testing.T, _ *shop, _ string, r *running) {
				if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
					t.Error(err)
				}
			},
			code: 130, verdict: "INVALID", rule: "complete", text: "interrupted",
		},
		{
			name: "coordinator deleted",
			during: func(t *testing.T, s *shop, name string, _ *running) {
				s.deletePod(t, s.pod(t, name, cluster.Coordinator), metav1.DeleteOptions{})
			},
			code: 3, verdict: "INVALID", rule: "complete", text: "interrupted",
		},
		{
			name: "coordinator killed",
			during: func(t *testing.T, s *shop, name string, _ *running) {
				s.deletePod(t, s.pod(t, name, cluster.Coordinator), kill)
			},
			code: 2, text: "its record is lost",
		},
		{
			name:    "outside interrupted",
			outside: true,
			during: func(t *testing.T, _ *shop, _ string, r *running) {
				if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
					t.Error(err)
				}
			},
			code: 130, verdict: "INVALID", rule: "complete", text: "interrupted",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s.testFault(t, c)
		})
	}
}

// testFault makes a run with this fault.
func (s *shop) testFault(t *testing.T, f fault) {
	t.Helper()
	object := strings.ToLower(strings.ReplaceAll(f.name, " ", "-"))
	args := inCluster(2, append([]string{"--kubernetes-name", object}, f.args...)...)
	if f.outside {
		args = append(s.outside(2, 7080+len(f.name)), "--kubernetes-name", object)
	}
	if f.profile != "" {
		args[2] = f.profile
	}
	during := func(r *running) {}
	if f.during != nil {
		during = func(r *running) { f.during(t, s, object, r) }
	}
	r := s.decided(t, f.verdict, during, args...)
	if r.code != f.code || r.Verdict != f.verdict {
		t.Errorf("exit code %d, %s: %s %v", r.code, r.Verdict, r.Claim, r.broken())
	}
	switch broken := r.broken(); {
	case f.rule != "" && (len(broken) == 0 || !strings.HasPrefix(broken[0], f.rule+": ") || !strings.Contains(broken[0], f.text)):
		t.Errorf("broken rules %q, want %s: %s; %+v", broken, f.rule, f.text, r.Rules)
	case f.rule == "" && !strings.Contains(r.stderr, f.text):
		t.Errorf("%s, want %s", r.stderr, f.text)
	}
	s.checkClean(t, object)
}

// decided makes a run, and makes it again if it was to PASS or to FAIL and only the delays
// of a busy machine kept it from that.
func (s *shop) decided(t *testing.T, verdict string, during func(*running), args ...string) (r result) {
	t.Helper()
	for try := 1; ; try++ {
		r = s.runAnd(t, holds, during, args...)
		undecided := r.Verdict != verdict && r.Verdict != "" && (verdict == "PASS" || verdict == "FAIL" && r.Verdict != "PASS")
		if !undecided || len(r.wrong()) > 0 || try == tries {
			return r
		}
		t.Logf("running it again: exit code %d, %s: %s %v", r.code, r.Verdict, r.Claim, r.broken())
	}
}

// outage is how long the API server is away.
const outage = 10 * time.Second

// testOutage takes the API server away for 10 s under load: neither the run nor the way
// back of its record needs it all the time.
func (s *shop) testOutage(t *testing.T) {
	r := s.decided(t, "PASS", func(*running) {
		s.StopAPIServer(t)
		time.Sleep(outage)
		s.StartAPIServer(t)
	}, append([]string{"kubernetes", "certify", "longer"}, inCluster(2, "--kubernetes-name", "outage")[3:]...)...)
	if r.code != 0 || r.Verdict != "PASS" {
		t.Errorf("exit code %d, %s: %s %v", r.code, r.Verdict, r.Claim, r.broken())
	}
	s.checkClean(t, "outage")
}
