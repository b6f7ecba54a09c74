//go:build long

package incluster_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// TestKubernetes runs everything in one cluster, as an account with the printed Role
// alone.
func TestKubernetes(t *testing.T) {
	s := openShop(t)
	s.InstallK6Operator(t)
	t.Run("API server there", func(t *testing.T) {
		// Beside the others, as it mostly waits until the cluster has removed the workers.
		t.Run("outside killed", func(t *testing.T) {
			t.Parallel()
			s.testFault(t, outsideKilled)
		})
		t.Run("others", func(t *testing.T) {
			t.Parallel()
			for _, workers := range []int{2, 4} {
				t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) { s.testEqual(t, workers) })
			}
			t.Run("faults", s.testFaults)
		})
	})
	t.Run("API server away", s.testOutage)
	t.Run("nothing is left", func(t *testing.T) { s.awaitClean(t, "", time.Minute) })
}

// within is the largest difference of the median latency between two runs of the same system
// that is accepted: they share two CPUs. The guide names it.
const within = 0.35

// tries is how often runs are made that only a busy machine made differ, or kept from their
// verdict.
const tries = 3

// testEqual compares runs on this machine, by a Job and by the k6-operator, which go on at
// the same time: the verdict and the schedule are the same, and the medians are close.
func (s *shop) testEqual(t *testing.T, workers int) {
	for try := 1; ; try++ {
		unlike := s.compare(t, workers)
		if t.Failed() || len(unlike) == 0 {
			return
		}
		if try == tries {
			t.Errorf("in each of %d tries: %s", tries, strings.Join(unlike, "; "))
			return
		}
		t.Logf("comparing again: %s", strings.Join(unlike, "; "))
	}
}

// compare makes the runs once. It returns the differences of which a busy machine alone can
// be the cause; others are errors.
func (s *shop) compare(t *testing.T, workers int) (unlike []string) {
	t.Helper()
	results, started := map[string]result{}, make(chan struct{})
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
					unlike = append(unlike, name+": "+seen)
				}
			})
		}
	})
	return append(unlike, differences(t, results)...)
}

// differences says in what runs are unlike the local one in a way that a busy machine alone
// can cause; others are errors.
func differences(t *testing.T, results map[string]result) (unlike []string) {
	t.Helper()
	local := results["local"]
	for name, r := range results {
		t.Logf("%-12s %s of %d transactions, p50 %.0f ms, p95 %.0f ms", name, r.Verdict, r.Rate.Scheduled, r.Latency.Transaction.P50, r.Latency.Transaction.P95)
		if wrong := r.wrong(); r.Verdict == "" || len(wrong) > 0 {
			t.Errorf("%s: exit code %d, %s: %s %v", name, r.code, r.Verdict, r.Claim, wrong)
		}
		if r.Rate.Scheduled != local.Rate.Scheduled {
			t.Errorf("%s: %d transactions were scheduled, of a local run %d", name, r.Rate.Scheduled, local.Rate.Scheduled)
		}
		if r.code != 0 || r.Verdict != "PASS" {
			unlike = append(unlike, fmt.Sprintf("%s: exit code %d, %s: %s %v", name, r.code, r.Verdict, r.Claim, r.broken()))
		}
		if r.Rate.Completed != local.Rate.Completed {
			unlike = append(unlike, fmt.Sprintf("%s: %d of %d transactions were completed, of a local run %d", name, r.Rate.Completed, r.Rate.Scheduled, local.Rate.Completed))
		}
		if math.Abs(r.Latency.Transaction.P50/local.Latency.Transaction.P50-1) > within {
			unlike = append(unlike, fmt.Sprintf("%s: the median is %.0f ms, of a local run %.0f ms", name, r.Latency.Transaction.P50, local.Latency.Transaction.P50))
		}
	}
	return unlike
}

// checkPods checks that a certificate names a pod and its node for each worker.
func (s *shop) checkPods(t *testing.T, r result) {
	t.Helper()
	pods := map[string]bool{}
	for _, w := range r.Generator.Fleet {
		if w.Node != s.NodeName() || !strings.HasPrefix(w.Pod, namespace+"/") {
			t.Errorf("%s in pod %q on node %q", w.Source, w.Pod, w.Node)
		}
		if w.HostCPUShare == nil || *w.HostCPUShare <= 0 {
			t.Errorf("%s: the node's CPU time is not known", w.Source)
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
