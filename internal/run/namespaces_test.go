//go:build long

package run_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/networktest"
	"assay.dev/assay/internal/testing/workertest"
)

// tail answers after a time with a long tail, which depends on nothing but the request's
// number: 5 ms to 9 ms, and one in fifty 100 ms to 140 ms.
type tail struct{ requests atomic.Uint64 }

func (h *tail) ServeHTTP(http.ResponseWriter, *http.Request) {
	random := rand.New(rand.NewPCG(1, h.requests.Add(1)))
	ms := 5 + 4*random.Float64()
	if random.IntN(50) == 0 {
		ms = 100 + 40*random.Float64()
	}
	time.Sleep(time.Duration(ms * float64(time.Millisecond)))
}

// One, two, four and eight workers on hosts of their own follow the same schedule
// together, and their merged percentiles are those of all samples pooled.
func TestLongFleetIsOneWorker(t *testing.T) {
	p := loose(steady(80, 8*time.Second))
	p.Flows[0].Load.Even = false
	for _, n := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			cpus(t, 0.3)
			s := newSite(t, &tail{})
			raw := t.TempDir()
			c := s.certify(p, n, func(o *coordinatorOptions) { o.Outputs = []string{"csv=" + filepath.Join(raw, "%d.csv")} })
			c.workers(n)
			r := c.wait()
			checkNothingLost(t, c, r)
			checkSchedule(t, r)
			var pooled []float64
			for i := range n {
				pooled = append(pooled, rawDurations(t, filepath.Join(raw, fmt.Sprintf("%d.csv", i)), metric.TransactionDuration)...)
			}
			slices.Sort(pooled)
			h := r.Timeline.Hist(metric.TransactionDuration, nil, whole(r))
			if h.Count() != uint64(len(pooled)) {
				t.Errorf("the record has %d samples, the workers wrote %d", h.Count(), len(pooled))
			}
			for _, q := range []float64{0.5, 0.9, 0.95, 0.99, 1} {
				got, _ := h.Quantile(q)
				want := pooled[int(math.Ceil(q*float64(len(pooled))))-1]
				if q >= 0.99 && want < 100 {
					t.Errorf("p%g of the pooled samples is %.3f ms: they have no long tail", 100*q, want)
				}
				if math.Abs(got-want) > 0.005*want {
					t.Errorf("p%g is %.3f ms in the record, %.3f ms in the pooled samples", 100*q, got, want)
				}
			}
			v := verdict.Judge(r)
			if len(v.Generator.Fleet) != n {
				t.Errorf("%d workers in the certificate", len(v.Generator.Fleet))
			}
			if v.Outcome != verdict.Pass && !onlySlow(v, verdict.Pass) { // eight workers are many for a shared machine
				logRules(t, v)
				t.Errorf("%s: %s", v.Outcome, v.Claim)
			}
		})
	}
}

// One of four workers reaches the target by a slow path. The run's percentiles are those
// of all its transactions; the mean of the workers' percentiles, which stock tools give,
// hides that one in four took ten times as long. The certificate names the worker.
func TestLongWorkerOnSlowPath(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	expectPass(t, func(t *testing.T) verdict.Verdict {
		s := newSite(t, &tail{})
		p := loose(steady(80, 15*time.Second))
		p.Flows[0].SLOs[0].Bound, p.Flows[0].SLOs[0].Expression = 400, "p(50)<400"
		c := s.certify(p, 4, nil)
		c.workers(3)
		slow := s.network.RemoteHost("far", networktest.Link{Delay: 60 * time.Millisecond})
		c.worker(slow)
		r := c.wait()
		v := verdict.Judge(r)
		var unlike []certificate.Worker
		mean, mean99, pooled, fastest := 0.0, 0.0, *v.Latency[verdict.TransactionName].P95, math.Inf(1)
		for _, w := range v.Generator.Fleet {
			mean, mean99, fastest = mean+*w.P95Ms/4, mean99+*w.P99Ms/4, min(fastest, *w.P95Ms)
			if w.Unlike {
				unlike = append(unlike, w)
			}
		}
		// The path adds 120 ms to each transaction of its worker, on any machine.
		if len(unlike) != 1 || *unlike[0].P95Ms < fastest+100 || *unlike[0].RoundTripMs < 120 {
			t.Fatalf("the fastest worker has a p95 of %.0f ms; unlike workers: %+v", fastest, unlike)
		}
		if !strings.Contains(strings.Join(v.Limitations, "\n"), unlike[0].Worker+" on ") {
			t.Errorf("limitations: %q", v.Limitations)
		}
		if pooled < 120 || mean > pooled-0.25*(*unlike[0].P95Ms-fastest) {
			t.Errorf("p95 of all transactions %.0f ms, mean of the workers' %.0f ms", pooled, mean)
		}
		t.Logf("p95 of all transactions %.0f ms, p99 %.0f ms; mean of the workers' p95 %.0f ms, p99 %.0f ms", pooled, *v.Latency[verdict.TransactionName].P99, mean, mean99)
		return v
	})
}

// Fleets in a row, on hosts of their own, leave no namespace, process, descriptor,
// goroutine or file behind.
func TestLongSoakOfFleets(t *testing.T) {
	cpus(t, 0.3)
	temporary := t.TempDir()
	one := func(t *testing.T) {
		s := newSite(t, &tail{})
		s.temporary = temporary
		c := s.certify(loose(steady(40, time.Second)), 2, nil)
		c.workers(2)
		r := c.wait()
		checkNothingLost(t, c, r)
	}
	t.Run("first", one) // what is created once, and kept, exists after it
	before, namespaces := takeFootprint(t, temporary), networkNamespaces(t)
	for i := range max(1, *soakRuns/3) {
		t.Run(fmt.Sprint(i), one)
		if _, more := awaitFootprint(t, before, soakLimit, temporary); more != "" {
			t.Fatalf("run %d has left\n%s", i, more)
		}
	}
	if left := networkNamespaces(t); left > namespaces {
		t.Errorf("%d network namespaces, before %d", left, namespaces)
	}
}

// networkNamespaces counts the network namespaces of this test's processes, which all run
// its binary. Others on this machine may make namespaces at the same time.
func networkNamespaces(t *testing.T) int {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	own, all := executable(t), map[string]bool{}
	for _, p := range processes {
		program, err := os.Readlink(p + "/exe")
		if err != nil || program != own {
			continue // it has ended, or is not of this test
		}
		if name, err := os.Readlink(p + "/ns/net"); err == nil {
			all[name] = true
		}
	}
	return len(all)
}

// Shares of the load are in proportion to the workers' CPUs, if the run asks for it.
func TestLongSharesByCPUs(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	expectPass(t, func(t *testing.T) verdict.Verdict {
		s := newSite(t, answering)
		c := s.certify(loose(steady(80, 6*time.Second)), 2, func(o *coordinatorOptions) { o.Join.ByCPUs = true })
		for _, cpus := range []string{"6", "2"} {
			c.worker(s.network.Host("worker"+cpus), workertest.EnvCPUs+"="+cpus)
		}
		r := c.wait()
		checkNothingLost(t, c, r)
		checkSchedule(t, r)
		for i, w := range r.Environment.Workers {
			if want := map[int]float64{6: 0.75, 2: 0.25}[w.Host.CPUs]; w.Share != want || r.Plan.Load.Workers[i].Share != want {
				t.Errorf("%s has %d CPUs and a share of %g", w.Source, w.Host.CPUs, w.Share)
			}
			ended, _ := r.Timeline.SumOf(w.Source, metric.Transactions, nil, record.All)
			if share := ended / float64(r.Plan.Load.Arrivals()); math.Abs(share-w.Share) > 0.01 {
				t.Errorf("%s has a share of %g and had %.3f of the transactions", w.Source, w.Share, share)
			}
		}
		return verdict.Judge(r)
	})
}
