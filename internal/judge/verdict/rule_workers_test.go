package verdict

import (
	"math/rand/v2"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// fleet is a run of four workers of which the last sees another latency.
func fleet(others, last float64) *synthetic.Case {
	return fleetOf(4, func(n int64) (float64, string) {
		if n%4 == 3 {
			return last + float64(n*37%10), metric.Completed
		}
		return others + float64(n*37%10), metric.Completed
	})
}

// fleetOf is a run of up to eight workers; worker i has the transactions n with n mod
// workers = i.
func fleetOf(workers int, system synthetic.System, more ...spec.SLO) *synthetic.Case {
	p := synthetic.Profile()
	p.Flows[0].SLOs = append(p.Flows[0].SLOs[len(p.Flows[0].SLOs)-2:], more...) // SLOs of the transaction
	p.Flows[0].Ledger = nil
	p.Flows[0].Load.Target = 10 * float64(workers)
	c := synthetic.New(p, workers, system)
	for i := range c.Run.Environment.Workers {
		w := &c.Run.Environment.Workers[i]
		w.Local, w.Host.Name = i == 0, []string{"a", "b", "c", "d", "e", "f", "g", "h"}[i]
	}
	return c
}

// A worker that is much slower or faster than the others is named. It makes the run
// INVALID where it alone makes the run fail, and never turns a FAIL of all workers into
// anything else.
func TestWorkersEven(t *testing.T) {
	for name, c := range map[string]struct {
		others, last float64
		verdict      Outcome
		rule         Outcome
		detail       string
		limitation   string
	}{
		"alike":                        {100, 100, Pass, Pass, "the p95 of the slowest worker, worker/", ""},
		"a little slower":              {60, 90, Pass, Pass, "worker/3 on d, is ", ""},
		"slower, far below the bound":  {2, 20, Pass, Pass, "worker/3 on d, is ", ""},
		"slower":                       {60, 180, Pass, Pass, "worker/3 on d, is ", "worker/3 on d saw a p95 of 189 ms, the other workers 68 ms"},
		"only it fails":                {60, 400, Invalid, Invalid, "worker/3 on d saw a p95 of 409 ms, the other workers 68 ms: the run fails on this worker alone", ""},
		"all fail, and one is slowest": {300, 900, Fail, Pass, "worker/3 on d, is ", "worker/3 on d saw a p95 of "},
		"all fail":                     {400, 400, Fail, Pass, "the p95 of the slowest worker", ""},
		"faster":                       {60, 1, Pass, Pass, " times that of the fastest, worker/3 on d", "worker/3 on d saw a p95 of 10 ms, the other workers 68 ms"},
		"faster, far below the bound":  {20, 1, Pass, Pass, " times that of the fastest, worker/3 on d", ""},
		"all others fail":              {400, 1, Fail, Pass, " times that of the fastest, worker/3 on d", "worker/3 on d saw a p95 of 10 ms, the other workers 408 ms"},
	} {
		t.Run(name, func(t *testing.T) {
			v := Judge(fleet(c.others, c.last).Record())
			r := ruleOf(t, v, "workers-even")
			if v.Outcome != c.verdict || r.Outcome != c.rule || !strings.Contains(r.Detail, c.detail) || (c.limitation == "") != (r.Limitation == "") || !strings.Contains(r.Limitation, c.limitation) {
				t.Errorf("%v: %s; %v: %q, limitation %q", v.Outcome, v.Claim, r.Outcome, r.Detail, r.Limitation)
			}
			for _, w := range v.Generator.Fleet {
				if want := w.Worker == "worker/3" && (c.limitation != "" || c.rule == Invalid); w.Unlike != want {
					t.Errorf("%s: unlike %t", w.Worker, w.Unlike)
				}
			}
		})
	}
}

// Workers with few transactions are not compared.
func TestWorkersWithFewTransactions(t *testing.T) {
	v := Judge(synthetic.New(synthetic.Profile(), 8, func(n int64) (float64, string) {
		if n%8 == 7 {
			return 200, metric.Completed
		}
		return 20, metric.Completed
	}).Record())
	if r := ruleOf(t, v, "workers-even"); r.Outcome != Pass || r.Detail != "too few transactions to compare the workers" || r.Observed != nil || *v.Generator.Fleet[7].Transactions != 75 {
		t.Errorf("%v: %q", r.Outcome, r.Detail)
	}
}

// Workers that see one system are alike, also where about one in twenty transactions is
// slow, so that chance decides whether the p95 of a worker is.
func TestEqualWorkersAreAlike(t *testing.T) { equalWorkersAreAlike(t, 8) }

func equalWorkersAreAlike(t *testing.T, seeds uint64) {
	t.Helper()
	fleets, apart, unlike := 0, 0, 0
	for seed := range seeds {
		for _, workers := range []int{2, 4, 8} {
			for _, slow := range []float64{0.045, 0.05, 0.055} {
				rng := rand.New(rand.NewPCG(seed, uint64(workers)))
				v := Judge(fleetOf(workers, func(int64) (float64, string) {
					if rng.Float64() < slow {
						return 200, metric.Completed
					}
					return 20 + 10*rng.ExpFloat64(), metric.Completed
				}).Record())
				r := ruleOf(t, v, "workers-even")
				fleets++
				if *r.Observed > rulebook.UnlikeFactor {
					apart++
				}
				if r.Limitation != "" || r.Outcome != Pass {
					unlike++
				}
			}
		}
	}
	// stats.Alpha of them by chance.
	if unlike > fleets/100 || apart < fleets/4 {
		t.Errorf("of %d fleets %d have an unlike worker, and %d a p95 that is more than twice another", fleets, unlike, apart)
	}
	t.Logf("of %d fleets %d have an unlike worker, and %d a p95 that is more than twice another", fleets, unlike, apart)
}

// The percentile of the run is that of all transactions, not the mean of the workers'.
func TestPercentilesOfWorkersAreNotAveraged(t *testing.T) {
	v := Judge(fleet(60, 1500).Record())
	mean := 0.0
	for _, w := range v.Generator.Fleet {
		if w.P99Ms == nil || w.Transactions == nil || *w.Transactions != 300 || w.Share != 0.25 {
			t.Fatalf("%+v", w)
		}
		mean += *w.P99Ms / 4
	}
	if p99 := *v.Latency[TransactionName].P99; p99 < 1490 || mean > 440 {
		t.Errorf("p99 of the run %.0f ms, mean of the workers' %.0f ms", p99, mean)
	}
}

// Old records name no hosts and no shares.
func TestFleetOfOldRecord(t *testing.T) {
	c := healthy()
	c.Run.Environment.Workers = nil
	for i := range c.Run.Plan.Load.Workers {
		c.Run.Plan.Load.Workers[i].Share = 0
	}
	v := Judge(c.Record())
	if v.Outcome != Pass || len(v.Generator.Fleet) != 2 || v.Generator.Fleet[1].Share != 0.5 || v.Generator.Fleet[1].Host != "" || v.Generator.Fleet[1].ClockDriftMs != nil {
		t.Errorf("%v: %+v", v.Outcome, v.Generator.Fleet)
	}
}
