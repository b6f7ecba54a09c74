//go:build long

package incluster_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

// TestKubernetes runs everything in one cluster, as an account with the printed Role
// alone.
func TestKubernetes(t *testing.T) {
	s := openShop(t)
	s.InstallK6Operator(t)
	t.Run("with faults", func(t *testing.T) {
		// Mostly waits until the cluster has removed the workers.
		t.Run("outside killed", func(t *testing.T) {
			t.Parallel()
			s.testFault(t, outsideKilled)
		})
		t.Run("equal", func(t *testing.T) {
			t.Parallel()
			for _, workers := range []int{2, 4} {
				t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) { s.testEqual(t, workers) })
			}
		})
	})
	t.Run("faults", s.testFaults)
	t.Run("API server away", s.testOutage)
	t.Run("nothing is left", func(t *testing.T) { s.awaitClean(t, "", time.Minute) })
}

// within is the largest difference of a percentile between two runs of the same system
// that is accepted: they draw different transactions, and share two CPUs.
const within = 0.35

// tries is how often runs are compared that differ, as they do where one is in progress
// while the machine is busier than during the other.
const tries = 3

// testEqual compares runs on this machine, by a Job and by the k6-operator, which go on at
// the same time: the verdict and the schedule are the same, and percentiles are close.
func (s *shop) testEqual(t *testing.T, workers int) {
	for try := 1; ; try++ {
		results, different, started := map[string]result{}, []string(nil), make(chan struct{})
		t.Run("runs", func(t *testing.T) {
			for name, args := range map[string][]string{
				"local":       s.local(workers),
				"job":         inCluster(workers, "--kubernetes-name", "job", "--db-secret", "shop-database/dsn"),
				"k6-operator": inCluster(workers, "--kubernetes-name", "operator", "--engine", "k6-operator"),
				"outside":     s.outside(workers, 7070+workers),
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					begin := func(*running) {}
					switch name {
					case "local": // whose workers need less time to start
						<-started
					case "job":
						start := sync.OnceFunc(func() { close(started) })
						defer start()
						begin = func(*running) { start() }
					}
					r := s.runAnd(t, joined, begin, args...)
					if r.Generator.Workers != workers {
						t.Errorf("exit code %d, %d workers", r.code, r.Generator.Workers)
					}
					if name != "local" {
						s.checkPods(t, r)
					}
					seen := ""
					if name != "local" && name != "outside" {
						seen = s.checkRecord(t, r)
					}
					s.mu.Lock()
					defer s.mu.Unlock()
					results[name] = r
					if seen != "" {
						different = append(different, name+": "+seen)
					}
				})
			}
		})
		different = append(different, differences(t, results)...)
		if t.Failed() || len(different) == 0 {
			return
		}
		if try == tries {
			t.Errorf("in each of %d tries: %s", tries, strings.Join(different, "; "))
			return
		}
		t.Logf("comparing again: %s", strings.Join(different, "; "))
	}
}

// differences says in what runs differ from the local one, which must be PASS.
func differences(t *testing.T, results map[string]result) (all []string) {
	t.Helper()
	local := results["local"]
	for name, r := range results {
		t.Logf("%-12s %s of %d transactions, p50 %.0f ms, p95 %.0f ms", name, r.Verdict, r.Rate.Scheduled, r.Latency.Transaction.P50, r.Latency.Transaction.P95)
		if r.code != 0 || r.Verdict != "PASS" {
			all = append(all, fmt.Sprintf("%s: exit code %d, %s: %s %v", name, r.code, r.Verdict, r.Claim, r.broken()))
		}
		if r.Rate.Scheduled != local.Rate.Scheduled || r.Rate.Completed != local.Rate.Completed {
			all = append(all, fmt.Sprintf("%s: %d of %d transactions, of a local run %d of %d", name, r.Rate.Completed, r.Rate.Scheduled, local.Rate.Completed, local.Rate.Scheduled))
		}
		if math.Abs(r.Latency.Transaction.P50/local.Latency.Transaction.P50-1) > within {
			all = append(all, fmt.Sprintf("%s: the median is %.0f ms, of a local run %.0f ms", name, r.Latency.Transaction.P50, local.Latency.Transaction.P50))
		}
	}
	return all
}

// checkPods checks that a certificate names a pod and its node for each worker.
func (s *shop) checkPods(t *testing.T, r result) {
	t.Helper()
	pods := map[string]bool{}
	for _, w := range r.Generator.Fleet {
		if w.Node != s.NodeName() || !strings.HasPrefix(w.Pod, namespace+"/") {
			t.Errorf("%s in pod %q on node %q", w.Source, w.Pod, w.Node)
		}
		pods[w.Pod] = true
	}
	if len(pods) != r.Generator.Workers {
		t.Errorf("%d workers in %d pods", r.Generator.Workers, len(pods))
	}
}

// checkRecord checks a record that was made in the cluster: it has the database's waits, and
// its certificate is valid here. It says if not both pods of the service were seen in most
// seconds.
func (s *shop) checkRecord(t *testing.T, r result) (different string) {
	t.Helper()
	opened, err := record.Open(r.dir)
	if err != nil {
		t.Error(err)
		return ""
	}
	if samples, _ := opened.Timeline.Sum(metric.DBSample, nil, record.All); samples == 0 {
		t.Error("the database was not sampled")
	}
	out, err := s.command(t.Context(), "verify", r.dir).CombinedOutput()
	if code := exitCode(err); code != r.code {
		t.Errorf("verify: exit code %d, of the run %d: %s", code, r.code, out)
	}
	hold := opened.Plan.Load.Judged[0]
	from := opened.Facts.T0.Add(hold.Start).Unix()
	instances, known := opened.Timeline.Gauge(metric.ServiceInstances, nil, metric.SourceService, record.Span{From: from, To: from + int64(hold.End-hold.Start)/1e9})
	both := 0
	for i, n := range instances {
		if known[i] && n == 2 {
			both++
		}
	}
	if both < len(instances)/2 {
		return fmt.Sprintf("both pods of the service answered in %d of %d seconds", both, len(instances))
	}
	return ""
}

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
			args:    []string{"--kubernetes-patch", "throttled.yaml", "--kubernetes-cpu", "20m"},
			profile: "strict",
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
				s.deletePod(t, s.pod(t, name, "coordinator"), metav1.DeleteOptions{})
			},
			code: 3, verdict: "INVALID", rule: "complete", text: "interrupted",
		},
		{
			name: "coordinator killed",
			during: func(t *testing.T, s *shop, name string, _ *running) {
				s.deletePod(t, s.pod(t, name, "coordinator"), kill)
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

// decided makes a run, and makes it again if it was to PASS or to FAIL and did not: on a busy
// machine, the generator's delays decide.
func (s *shop) decided(t *testing.T, verdict string, during func(*running), args ...string) (r result) {
	t.Helper()
	for try := 1; ; try++ {
		r = s.runAnd(t, holds, during, args...)
		if r.Verdict == verdict || verdict != "PASS" && verdict != "FAIL" || try == tries {
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
