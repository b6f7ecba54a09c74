package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/synthetic"
)

// spikes is a system whose latency is usual, but for one of so many transactions of a
// worker; those of other workers are as given for the worker's number.
func spikes(workers int64, latency func(worker int64) (usual, spike float64, every int64)) synthetic.System {
	return func(n int64) (float64, string) {
		usual, spike, every := latency(n % workers)
		if every > 0 && n/workers%every == 5 {
			return spike, metric.Completed
		}
		return usual + float64(n/workers*37%10), metric.Completed
	}
}

// Workers that are faster than the others may reach another system. The run is INVALID
// where it passes only because they dilute what the others saw. Which of two
// workers is unlike is not known.
func TestFasterWorkersDecide(t *testing.T) {
	// Holds for all; the samples of one of two workers would be too few to say so.
	rare := synthetic.Percentile(metric.TransactionDuration, 99, 1000)
	for name, c := range map[string]struct {
		workers    int64
		fast       int64 // the last ones
		every      int64 // one in so many transactions of the others violates the SLO
		verdict    Outcome
		rule       Outcome
		detail     string
		limitation string
	}{
		"one of four, the others are close to the limit": {4, 1, 33, Invalid, Invalid, "worker/3 on d saw a p95 of 10 ms, the other workers 199 ms: without this worker the run would not pass", ""},
		"one of four, the others hold":                   {4, 1, 60, Pass, Pass, "", "worker/3 on d saw a p95 of 10 ms, the other workers 199 ms"},
		"one of four, the others fail":                   {4, 1, 8, Fail, Pass, "", "worker/3 on d saw a p95 of 10 ms, the other workers 400 ms"},
		"one of three":                                   {3, 1, 60, Pass, Pass, "", "worker/2 on c saw a p95 of 10 ms, the other workers 199 ms"},
		"five of eight":                                  {8, 5, 60, Pass, Pass, "", "worker/0 on a, worker/1 on b and worker/2 on c saw a p95 of 199 ms, the other workers 10 ms"},
		"four of eight":                                  {8, 4, 60, Pass, Pass, "", "worker/0 on a, worker/1 on b, worker/2 on c and 1 more saw a p95 of 199 ms, the other workers 10 ms; worker/4 on e, worker/5 on f, worker/6 on g and 1 more saw a p95 of 10 ms, the other workers 199 ms"},
		"two of eight, on one host":                      {8, 2, 33, Invalid, Invalid, "worker/6 on g and worker/7 on h saw a p95 of 10 ms, the other workers 199 ms: without these workers the run would not pass", ""},
		"two of four":                                    {4, 2, 60, Pass, Pass, "", "worker/0 on a and worker/1 on b saw a p95 of 199 ms, the other workers 10 ms; worker/2 on c and worker/3 on d saw a p95 of 10 ms, the other workers 199 ms"},
		"one of two":                                     {2, 1, 60, Pass, Pass, "the p95 of the slowest worker, worker/0 on a, is ", "worker/0 on a saw a p95 of 199 ms, the other worker 10 ms"},
		"one of two, the other is close to the limit":    {2, 1, 22, Invalid, Invalid, "worker/1 on b saw a p95 of 10 ms, the other worker 199 ms: without this worker the run would not pass", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := Judge(fleetOf(int(c.workers), spikes(c.workers, func(worker int64) (usual, spike float64, every int64) {
				if worker >= c.workers-c.fast {
					return 1, 1, 0
				}
				return 190, 400, c.every
			}), rare).Record())
			r := ruleOf(t, v, "workers-even")
			if v.Outcome != c.verdict || r.Outcome != c.rule || !strings.Contains(r.Detail, c.detail) || r.Limitation != c.limitation {
				t.Errorf("%v: %s; %v: %q, limitation %q", v.Outcome, v.Claim, r.Outcome, r.Detail, r.Limitation)
			}
			for i, w := range v.Generator.Fleet {
				fast := int64(i) >= c.workers-c.fast
				if want := fast && 2*c.fast <= c.workers || !fast && 2*c.fast >= c.workers; w.Unlike != want { // the fewer ones
					t.Errorf("%s: unlike %t", w.Worker, w.Unlike)
				}
			}
		})
	}
}

// A slower worker is not why the run passes, whatever the others would do without it.
func TestSlowerWorkerIsNotWhyARunPasses(t *testing.T) {
	for name, c := range map[string]struct {
		workers, slow int64 // number, and the number of the slow one
		every         int64 // one in so many transactions of the others violates the SLO; 0: none
		unlike        string
	}{
		"of four":                      {4, 3, 32, "worker/3 on d saw a p95 of 189 ms, the other workers 68.9 ms"},
		"of three":                     {3, 2, 32, "worker/2 on c saw a p95 of 189 ms, the other workers 68.9 ms"},
		"of three, the others are far": {3, 2, 0, "worker/2 on c saw a p95 of 189 ms, the other workers 68.9 ms"},
	} {
		t.Run(name, func(t *testing.T) {
			v := Judge(fleetOf(int(c.workers), spikes(c.workers, func(worker int64) (usual, spike float64, every int64) {
				if worker == c.slow {
					return 180, 180, 0
				}
				return 60, 400, c.every
			})).Record())
			if r := ruleOf(t, v, "workers-even"); v.Outcome != Pass || r.Limitation != c.unlike {
				t.Errorf("%v: %s; %v: %q, limitation %q", v.Outcome, v.Claim, r.Outcome, r.Detail, r.Limitation)
			}
			for i, w := range v.Generator.Fleet {
				if w.Unlike != (int64(i) == c.slow) {
					t.Errorf("%s: unlike %t", w.Worker, w.Unlike)
				}
			}
		})
	}
}

// A run that was aborted did not pass, whatever its SLOs say: it stays FAIL.
func TestFasterWorkerInAbortedRun(t *testing.T) {
	c := fleetOf(4, spikes(4, func(worker int64) (usual, spike float64, every int64) {
		if worker == 3 {
			return 1, 1, 0
		}
		return 190, 400, 33
	}))
	aborted(c, 45)
	v := Judge(c.Record())
	if r := ruleOf(t, v, "workers-even"); v.Outcome != Fail || r.Outcome != Pass || !strings.HasPrefix(r.Limitation, "worker/3 on d saw a p95 of 10 ms") {
		t.Errorf("%v: %s; %v: %q, limitation %q", v.Outcome, v.Claim, r.Outcome, r.Detail, r.Limitation)
	}
}

// Scaled counts keep their shares, and their total the number of all samples.
func TestScaledCounts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		counted := make([]stats.Batch, rapid.IntRange(1, 600).Draw(rt, "seconds"))
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		for i := range counted {
			counted[i].N = float64(1 + rng.IntN(50_000))
			counted[i].K = float64(rng.IntN(int(counted[i].N) + 1))
		}
		rest := stats.Sum(counted)
		n := rest.N + float64(rapid.IntRange(1, 1_000_000).Draw(rt, "more"))
		total := stats.Sum(scaled(counted, n/rest.N))
		if int64(total.N) != int64(n) || math.Abs(total.K/total.N-rest.K/rest.N) > 1e-9 {
			rt.Errorf("%v, want %g samples and a share of %g", total, n, rest.K/rest.N)
		}
	})
}

// An endpoint that fails by itself is a FAIL, whatever else one of the workers is.
func TestUnlikeWorkerAndFailedEndpoint(t *testing.T) {
	for _, last := range []float64{1, 180} {
		c := fleet(60, last)
		c.Run.Plan.Profile.Flows[0].SLOs = append(c.Run.Plan.Profile.Flows[0].SLOs, synthetic.Percentile(metric.RequestDuration, 95, 500))
		addEndpoint(c, "rare", 20, 5)
		addEndpoint(c, "pay", 400, 0)
		c.Frames = recount(c)
		v := Judge(c.Record())
		if r := ruleOf(t, v, "workers-even"); v.Outcome != Fail || r.Outcome != Pass || !strings.HasPrefix(r.Limitation, "worker/3 on d saw ") {
			t.Errorf("%v: %s; %v: %q, limitation %q", v.Outcome, v.Claim, r.Outcome, r.Detail, r.Limitation)
		}
		if s := sloOf(t, v, "http_req_duration:p(95)<500"); s.Outcome != Pass {
			t.Errorf("the pool is %v", s.Outcome)
		}
	}
}

// An endpoint fails by unlike workers alone where all their requests violate the SLO and
// those of the others hold it; where it is slow for all, the run fails.
func TestUnlikeWorkerFailsEndpoints(t *testing.T) {
	pool := synthetic.Percentile(metric.RequestDuration, 95, 250)
	for name, c := range map[string]struct {
		others, last float64 // ms, of more requests
		endpoint     string  // theirs
		judged       bool    // the workers' counters of the SLO include them
		requests     bool    // their number is known by endpoint
		classes      Outcome
		verdict      Outcome
	}{
		"on this worker alone":          {60, 400, "b", true, true, Fail, Invalid},
		"on all":                        {400, 400, "b", true, true, Fail, Fail},
		"on all, and not by count":      {400, 400, "pay", false, true, Pass, Fail},
		"how many are its is not known": {60, 400, "b", true, false, Fail, Fail},
	} {
		t.Run(name, func(t *testing.T) {
			run := fleetOf(4, func(n int64) (float64, string) {
				if n%4 == 3 {
					return 400, metric.Completed
				}
				return 60, metric.Completed
			}, pool)
			for i, f := range run.Frames {
				if f.Closing || !metric.IsWorker(f.Source) {
					continue
				}
				ms, h, violations := c.others, &metric.Hist{}, 0.0
				if f.Source == "worker/3" {
					ms = c.last
				}
				h.Record(ms, 10)
				if ms > pool.Bound {
					violations = 10
				}
				count := func(v float64, name string, labels ...string) metric.Point {
					return metric.CounterPoint(metric.NewSeries(name, "", labels...), v)
				}
				run.Frames[i].Points = append(slices.Clip(f.Points), metric.HistPoint(metric.NewSeries(metric.RequestDuration, "ms", "name", c.endpoint), h))
				if c.requests {
					run.Frames[i].Points = append(run.Frames[i].Points,
						count(10, metric.RequestFailed+metric.RateTotal, "name", c.endpoint), count(0, metric.RequestFailed+metric.RateOccurred, "name", c.endpoint))
				}
				if c.judged {
					run.Frames[i].Points = append(run.Frames[i].Points,
						count(10, metric.Judged, "slo", pool.ID()), count(violations, metric.Violations, "slo", pool.ID()), count(violations, metric.ViolationsCleared, "slo", pool.ID()))
				}
			}
			run.Frames = recount(run)
			v := Judge(run.Record())
			if r := ruleOf(t, v, "per-class"); r.Outcome != c.classes {
				t.Errorf("endpoints: %v", r)
			}
			if r := ruleOf(t, v, "workers-even"); v.Outcome != c.verdict || (r.Outcome == Invalid) != (c.verdict == Invalid) {
				t.Errorf("%v: %s; %v: %q, limitation %q", v.Outcome, v.Claim, r.Outcome, r.Detail, r.Limitation)
			}
		})
	}
}
