//go:build long

package incluster_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/testing/polltest"
)

// fault is something that happens to a run in the cluster.
type fault struct {
	name    string
	args    []string                                             // besides those of a run with two workers
	profile string                                               // default: payment
	outside bool                                                 // the coordinator runs on this machine
	runners bool                                                 // workers are runners of the k6-operator
	during  func(t *testing.T, s *shop, name string, r *running) // once the hold has begun
	code    int
	verdict string
	rule    string // id of the first rule that makes the run INVALID
	text    string // text of the rule's detail, or of the error
	early   bool   // text is reported before the error, too
	judge   string // error of `assay judge` on what is left of the record; empty: it is not judged again
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
	code:  -1,
	judge: "not sealed",
}

// testFaults checks what becomes of a run with each fault, the longest first.
func (s *shop) testFaults(t *testing.T) {
	kill := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	killWorker := func(t *testing.T, s *shop, name string, _ *running) { s.deletePod(t, s.workerPod(t, name), kill) }
	killCoordinator := func(t *testing.T, s *shop, name string, _ *running) {
		s.deletePod(t, s.pod(t, name, cluster.Coordinator), kill)
	}
	interrupt := func(t *testing.T, _ *shop, _ string, r *running) {
		if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []fault{
		{
			name:    "worker throttled",
			args:    []string{"--kubernetes-patch", "throttled.yaml", "--kubernetes-cpu", "100m"},
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
			// Its coordinator goes on, and keeps the record.
			name: "command killed",
			during: func(t *testing.T, s *shop, name string, r *running) {
				if err := r.cmd.Process.Kill(); err != nil {
					t.Error(err)
				}
				s.fetch(t, name)
				polltest.Until(t, "its workers are gone", func() bool {
					all, err := s.client.CoreV1().Pods(namespace).List(t.Context(), cluster.ListOptions(name, cluster.Worker))
					return err == nil && len(all.Items) == 0
				})
				began := time.Now().UTC().Format("20060102T150405Z")
				if r := s.decided(t, "PASS", func(*running) {}, inCluster(2, "--kubernetes-name", name)...); r.Run < began || r.Verdict != "PASS" {
					t.Errorf("run again at %s: %s, exit code %d, %s: %s %v", began, r.Run, r.code, r.Verdict, r.Claim, r.broken())
				}
				s.awaitClean(t, name, time.Minute)
			},
			code: -1,
		},
		{
			name: "crossed SLO", profile: "fast",
			during: func(t *testing.T, s *shop, _ string, _ *running) { // a local run misses it, too
				args := s.local(2)
				args[1] = "fast"
				if r := s.decided(t, "FAIL", func(*running) {}, args...); r.code != 1 || r.Verdict != "FAIL" {
					t.Errorf("a local run: exit code %d, %s: %s %v", r.code, r.Verdict, r.Claim, r.broken())
				}
			},
			code: 1, verdict: "FAIL",
		},
		{
			name: "worker deleted",
			during: func(t *testing.T, s *shop, name string, _ *running) {
				s.deletePod(t, s.workerPod(t, name), metav1.DeleteOptions{})
			},
			code: 3, verdict: "INVALID", rule: "worker-lost", text: "deleted",
		},
		{
			name: "worker killed", during: killWorker,
			code: 3, verdict: "INVALID", rule: "worker-lost", text: "deleted",
		},
		{
			name: "runner killed", runners: true, during: killWorker,
			code: 3, verdict: "INVALID", rule: "worker-lost", text: "deleted",
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
			code: 3, verdict: "INVALID", rule: "worker-lost", text: "evicted",
		},
		{name: "worker out of memory", profile: "leaking", code: 3, verdict: "INVALID", rule: "worker-lost", text: "OOMKilled"},
		{name: "never scheduled", args: []string{"--kubernetes-cpu", "100", "--join-timeout", "40s"}, code: 2, text: "Insufficient cpu", early: true},
		{name: "no such image", args: []string{"--kubernetes-image", "assay-test/none:1", "--join-timeout", "40s"}, code: 2, text: "assay-test/none:1", early: true},
		{name: "no rights", args: []string{"--kubeconfig", s.accessOf(t, "default")}, code: 2, text: "system:serviceaccount:load:default may not get pods/log"},
		{name: "broken script", profile: "broken", code: 2, text: "broken.js"},
		{name: "no endpoints", args: []string{"--target", "http://empty", "--allow-target", "empty"}, code: 2, text: "no pod that is ready"},
		{
			name: "interrupted", during: interrupt,
			code: 130, verdict: "INVALID", rule: "complete", text: "interrupted",
		},
		{
			name: "runners interrupted", runners: true, during: interrupt,
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
			name: "coordinator killed", during: killCoordinator,
			code: 2, text: "its record is lost",
		},
		{
			name: "coordinator of runners killed", runners: true, during: killCoordinator,
			code: 2, text: "its record is lost",
		},
		{
			name: "outside interrupted", outside: true, during: interrupt,
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
	if f.runners {
		args = append(args, "--engine", "k6-operator")
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
	case f.early && strings.Index(r.stderr, f.text) > strings.LastIndex(r.stderr, "\nassay: "):
		t.Errorf("%s, want %s before the error", r.stderr, f.text)
	}
	if f.judge != "" {
		out, err := s.command(t.Context(), "judge", r.dir).CombinedOutput()
		if code := exitCode(err); code != 2 || !strings.Contains(string(out), f.judge) {
			t.Errorf("judge: exit code %d: %s, want %s", code, out, f.judge)
		}
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

// fetch brings the record of a run whose command was killed, as the guide says, once it is
// complete, and removes what is left of the run.
func (s *shop) fetch(t *testing.T, name string) {
	t.Helper()
	polltest.Until(t, "the record is complete", func() bool {
		log, err := s.client.CoreV1().Pods(namespace).GetLogs(s.pod(t, name, cluster.Coordinator), &corev1.PodLogOptions{}).DoRaw(t.Context())
		return err == nil && strings.Contains(string(log), "the record is complete")
	})
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	blocks := fences.FindAllStringSubmatch(string(text), -1)
	i := slices.IndexFunc(blocks, func(b []string) bool { return strings.Contains(b[2], "assay kubernetes export") })
	if i < 0 {
		t.Fatal("the guide does not say how to fetch a record")
	}
	// judge exits as its verdict says, which does not matter here.
	commands := "set +e\n" + strings.NewReplacer("assay-checkout", name, "kubectl ", "kubectl --namespace "+namespace+" ").Replace(blocks[i][2])
	cmd := s.shell(t, s.kubeconfig, commands)
	if cmd.Dir, err = os.MkdirTemp(s.runs, "fetched-"); err != nil {
		t.Fatal(err)
	}
	out, _ := cmd.CombinedOutput()
	var r result
	if text, err = os.ReadFile(filepath.Join(cmd.Dir, "record", "certificate.json")); err == nil {
		err = json.Unmarshal(text, &r.certificate)
	}
	if wrong := r.wrong(); err != nil || r.Verdict == "" || len(wrong) > 0 {
		t.Errorf("%v, %s: %s %v: %s", err, r.Verdict, r.Claim, wrong, out)
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
