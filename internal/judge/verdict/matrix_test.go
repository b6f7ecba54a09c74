package verdict

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// The matrix: systems that hold or break their SLOs, on machines that are quiet,
// noisy, or worse. The records are synthetic; internal/run shows a few of the cells
// end to end.

// behaviour is a system and its SLOs.
type behaviour struct {
	load   spec.Load
	slo    spec.SLO
	system func(rng *rand.Rand, due []time.Duration) synthetic.System
}

// surroundings are the delays, in ms, that the host adds to the generator and, by
// competition for the same CPUs, to the system.
type surroundings struct {
	generator func(rng *rand.Rand, due []time.Duration) synthetic.Generator
	slower    func(rng *rand.Rand) float64
}

func phases(rate float64, hold time.Duration) spec.Load {
	return spec.Load{
		Unit: "tps", Target: rate, Warmup: 5 * time.Second, Baseline: spec.Baseline{Rate: rate / 4, For: 10 * time.Second},
		Ramp: 5 * time.Second, Hold: hold, Cooldown: 5 * time.Second,
	}
}

// slowShare answers at once, except for a share that takes 400 ms longer.
func slowShare(share func(at time.Duration) float64) func(*rand.Rand, []time.Duration) synthetic.System {
	return func(rng *rand.Rand, due []time.Duration) synthetic.System {
		return func(n int64) (float64, string) {
			ms := 5 + rng.ExpFloat64()*15
			if rng.Float64() < share(due[n-1]) {
				ms += 400
			}
			return ms, metric.Completed
		}
	}
}

func always(share float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return share }
}

var behaviours = map[string]behaviour{
	"healthy": {phases(100, time.Minute), synthetic.Percentile(metric.TransactionDuration, 95, 250), slowShare(always(0.005))},
	"twice the allowed violations": {
		phases(100, time.Minute), synthetic.Percentile(metric.TransactionDuration, 95, 250), slowShare(always(0.1)),
	},
	"a spike that fails": {
		spec.Load{Unit: "tps", Stages: []spec.Stage{
			{Rate: 40, For: 150 * time.Second, Judge: true}, {Rate: 120, For: 20 * time.Second, Judge: true}, {Rate: 40, For: 10 * time.Second},
		}},
		synthetic.Percentile(metric.TransactionDuration, 95, 250),
		slowShare(func(at time.Duration) float64 {
			if at >= 150*time.Second {
				return 0.12
			}
			return 0.005
		}),
	},
	"a stall of 1 s in 10": {
		phases(100, time.Minute), synthetic.Percentile(metric.TransactionDuration, 99, 100),
		func(rng *rand.Rand, due []time.Duration) synthetic.System {
			return func(n int64) (float64, string) {
				ms := 5 + rng.ExpFloat64()*10
				if in := due[n-1] % (10 * time.Second); in >= 3300*time.Millisecond && in < 4300*time.Millisecond {
					ms += float64(4300*time.Millisecond-in) / float64(time.Millisecond)
				}
				return ms, metric.Completed
			}
		},
	},
}

var machines = map[string]surroundings{
	"quiet": {
		func(rng *rand.Rand, _ []time.Duration) synthetic.Generator {
			return func(int64) (float64, float64) { return rng.ExpFloat64() * 0.2, 0 }
		},
		func(*rand.Rand) float64 { return 0 },
	},
	// Bursts of 30 ms in 100 ms delay everything that needs a CPU; the heartbeat
	// notices a few of them.
	"30 % of each CPU taken in bursts": {
		func(rng *rand.Rand, _ []time.Duration) synthetic.Generator {
			return func(int64) (float64, float64) {
				if rng.Float64() < 0.7 {
					return rng.ExpFloat64() * 0.3, 0
				}
				if rng.Float64() < 0.1 {
					return rng.Float64() * 30, 25 + rng.Float64()*10
				}
				return rng.Float64() * 20, 0
			}
		},
		func(rng *rand.Rand) float64 {
			if rng.Float64() < 0.3 {
				return rng.Float64() * 60
			}
			return 0
		},
	},
	// SIGSTOP for 5 s within the last judged window: transactions that are due during
	// it start at its end, and open ones wait for it.
	"generator stopped for 5 s": {
		func(rng *rand.Rand, due []time.Duration) synthetic.Generator {
			end := due[len(due)-1] - 15*time.Second
			return func(n int64) (float64, float64) {
				switch at := due[n-1]; {
				case at >= end-5*time.Second && at < end:
					return float64(end-at) / float64(time.Millisecond), 0
				case at >= end-5*time.Second-20*time.Millisecond && at < end:
					return 0, 5000
				}
				return rng.ExpFloat64() * 0.2, 0
			}
		},
		func(*rand.Rand) float64 { return 0 },
	},
	"next to four busy loops": {
		func(rng *rand.Rand, _ []time.Duration) synthetic.Generator {
			return func(int64) (float64, float64) { return rng.ExpFloat64() * 60, rng.ExpFloat64() * 40 }
		},
		func(rng *rand.Rand) float64 { return rng.ExpFloat64() * 80 },
	},
}

// dueTimes are the scheduled times of all slots, spread evenly over their seconds.
func dueTimes(pl plan.Plan) (due []time.Duration) {
	for _, s := range pl.Stages {
		for i := range s.Arrivals {
			due = append(due, s.Start+time.Duration(float64(s.Duration)*(float64(i)+0.5)/float64(s.Arrivals)))
		}
	}
	return due
}

// cell judges one run of the matrix.
func cell(t *testing.T, b behaviour, m surroundings, seed uint64) Verdict {
	t.Helper()
	p := synthetic.Profile()
	p.Flows[0].Load, p.Flows[0].SLOs, p.Flows[0].Ledger = b.load, []spec.SLO{b.slo}, nil
	pl, err := plan.New(p, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	due := dueTimes(pl)
	rng := rand.New(rand.NewPCG(seed, 1))
	system, generator := b.system(rng, due), m.generator(rng, due)
	return Judge(synthetic.NewWith(p, 1, func(n int64) (float64, string) {
		ms, outcome := system(n)
		return ms + m.slower(rng), outcome
	}, generator).Record())
}

// On ordinary machines healthy systems pass and broken ones fail; a broken system
// passes nowhere.
func TestMatrix(t *testing.T) {
	runs := 3
	if *whole || *update {
		runs = 20
	}
	matrix(t, runs)
}

// matrix judges so many runs of each behaviour on each machine.
func matrix(t *testing.T, runs int) {
	t.Helper()
	for of, b := range behaviours {
		for on, m := range machines {
			t.Run(fmt.Sprintf("%s, %s", of, on), func(t *testing.T) {
				t.Parallel()
				count := map[Outcome]int{}
				claim := ""
				for seed := range uint64(runs) { // the first of -calibrate's
					v := cell(t, b, m, seed)
					count[v.Outcome]++
					claim = v.Claim
				}
				ordinary := on == "quiet" || on == "30 % of each CPU taken in bursts"
				stopped := on == "generator stopped for 5 s"
				switch {
				case of == "healthy" && ordinary && count[Pass] < runs-1,
					of != "healthy" && ordinary && count[Fail] < runs,
					of != "healthy" && count[Pass] > 0,
					of == "healthy" && count[Fail] > 0,
					of == "healthy" && stopped && count[Invalid] < runs,
					of != "healthy" && stopped && count[Invalid]+count[Fail] < runs:
					t.Errorf("%v; the last: %s", count, claim)
				default:
					t.Logf("%v; the last: %s", count, claim)
				}
			})
		}
	}
}
