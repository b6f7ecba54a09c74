package verdict

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/judge/stats/source"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// A system has settled when the SLOs hold until the load rises or ends, or a fault comes, at
// whatever lower rate: one that is good for as long as they must hold, and then is not, has not.
func TestRelapse(t *testing.T) {
	type span struct{ from, to int }
	every := func(period, long, from, to int) (all []span) {
		for at := from; at < to; at += period {
			all = append(all, span{at, at + long})
		}
		return all
	}
	// The overload ends in second 40.
	start := []spec.Stage{{Rate: 20, For: 20 * time.Second, Judge: true}, {Rate: 30, For: 20 * time.Second, Overload: true}}
	after := []spec.Stage{{Rate: 20, For: 60 * time.Second}}
	long := []spec.Stage{{Rate: 20, For: 400 * time.Second}}
	falling := []spec.Stage{{Rate: 20, For: 20 * time.Second}, {Rate: 10, Ramp: 2 * time.Second, For: 40 * time.Second}}
	judged := []spec.Stage{{Rate: 20, For: 60 * time.Second, Judge: true}}
	for name, tt := range map[string]struct {
		after []spec.Stage
		slow  []span
		want  Outcome // of settle_time
	}{
		"good for 11 s, then dead":                   {after, []span{{51, 100}}, Fail},
		"good for 11 s, then dead for a while":       {after, []span{{51, 71}}, Fail},
		"dead once the load is lower":                {falling, []span{{65, 102}}, Fail},
		"dead in a judged window":                    {judged, []span{{51, 100}}, Fail},
		"oscillating 10 s / 10 s":                    {after, every(20, 10, 50, 100), Fail},
		"oscillating 11 s / 5 s":                     {after, every(16, 5, 40, 100), Fail},
		"dead at the end":                            {after, []span{{90, 100}}, Fail},
		"slow within the limit, good from then on":   {after, []span{{40, 43}, {54, 57}}, Pass},
		"one bad second":                             {after, []span{{70, 71}}, Pass},
		"two bad seconds, as many as the SLO allows": {after, []span{{60, 61}, {80, 81}}, Pass},
		"more than the SLO allows, once":             {long, []span{{75, 95}}, Inconclusive},
		"perhaps dead at the end":                    {long, []span{{425, 440}}, Inconclusive},
		"more than the SLO allows, and not clearly":  {after, []span{{75, 80}}, Inconclusive},
		"good": {after, nil, Pass},
	} {
		t.Run(name, func(t *testing.T) {
			p := overloadProfile(20*time.Second, 20*time.Second, "0.9")
			p.Flows[0].Load.Stages = slices.Concat(start, tt.after)
			p.Flows[0].SLOs = p.Flows[0].SLOs[:2]
			v := Judge(synthetic.New(p, 1, arrivingIn(p, func(second int) bool {
				return slices.ContainsFunc(tt.slow, func(s span) bool { return second >= s.from && second < s.to })
			})).Record())
			if s := findSLO(t, v, metric.SettleTime); s.Outcome != tt.want || v.Outcome == Pass && tt.want != Pass {
				t.Errorf("%s, want %s; %s", s.Outcome, tt.want, v.Claim)
			}
			if doubt := strings.Contains(v.Claim, "overload of 30/s: settled, unless later violations are a relapse"); doubt != strings.HasPrefix(name, "perhaps dead") {
				t.Error(v.Claim)
			}
		})
	}
}

// A relapse after a fault fails recovery_time; what the end of the fault breaks is its own.
func TestRelapseAfterFault(t *testing.T) {
	for name, tt := range map[string]struct {
		system synthetic.System
		want   Outcome
	}{
		"dead again":                   {outages([2]float64{20.3, 22}, [2]float64{30, 34}), Fail},
		"dead again after the end":     {outages([2]float64{20.3, 22}, [2]float64{46, 52}), Fail},
		"the end breaks it for a time": {outages([2]float64{20.3, 22}, [2]float64{36, 38}), Pass},
	} {
		v := Judge(underFaults(faultProfile(8*time.Second, true), tt.system, 20.25, 35.5).Record())
		if s := sloOn(t, v, metric.RecoveryTime); s.Outcome != tt.want || v.Outcome != tt.want {
			t.Errorf("%s: %s, %s; want %s: %s", name, s.Outcome, v.Outcome, tt.want, v.Claim)
		}
	}
}

// In ten minutes of a healthy system, whose latency is correlated, there is no relapse; nor is
// one second of chance a relapse.
func TestHealthySystemDoesNotRelapse(t *testing.T) {
	const seconds, runs = 600, 12
	for _, of := range []source.Source{source.MM1(0.8), source.OnOff("bursty", 5, 0.1, 6), source.Stalling(20), source.Modulated(10, 0.2)} {
		for _, q := range []float64{0.05, 0.01} {
			for run := range runs {
				random := rand.New(rand.NewPCG(uint64(run), 1))
				var latencies []float64
				second := make([]int, 0, 100*seconds)
				of.Run(random, 50, seconds, func(at, latency float64) {
					second, latencies = append(second, min(int(at), seconds-1)), append(latencies, latency)
				})
				sorted := slices.Sorted(slices.Values(latencies))
				limit := sorted[int(float64(len(sorted))*(1-q/10))] // a tenth of what may violate
				all := make([]stats.Batch, seconds)
				for i, s := range second {
					if all[s].N++; latencies[i] >= limit {
						all[s].K++
					}
				}
				chance := 300 + random.IntN(200)
				all[chance].K = all[chance].N / 4
				counts := countAll([]sampled{{violations{possible: all}, q}}, func(v violations) []stats.Batch { return v.possible })
				if c := courseUntil(seconds, disturbance{held: heldSeconds}, counts, counted.keptInMinutes); !c.ok || c.kept > 10 {
					t.Errorf("%s, p%g, run %d: %+v", of.Name, 100-100*q, run, c)
				}
			}
		}
	}
}

// Where latency is strongly correlated, a system at half of what may violate has bad minutes in ten.
// They are no PASS, but not for certain a relapse either.
func TestBadMinutesAreNoCertainRelapse(t *testing.T) {
	const seconds, rate, runs = 600, 50, 30
	all, fails := 0, 0
	for _, of := range []source.Source{source.MM1(0.9), source.Modulated(10, 1)} {
		for _, q := range []float64{0.05, 0.01} {
			limit := of.Limit(q/2, rate)
			for run := range runs {
				slow := make([]stats.Batch, seconds)
				of.Run(rand.New(rand.NewPCG(uint64(run), 5)), rate, seconds, func(at, latency float64) {
					second := &slow[min(int(at), seconds-1)]
					if second.N++; latency >= limit {
						second.K++
					}
				})
				counts := countAll([]sampled{{violations{possible: slow}, q}}, func(v violations) []stats.Batch { return v.possible })
				if all++; courseUntil(seconds, disturbance{held: heldSeconds}, counts, counted.keptInRest).kept > 20 {
					fails++
				}
			}
		}
	}
	if 10*fails > all {
		t.Errorf("%d of %d healthy systems have not settled after 20 s, for certain", fails, all)
	}
}

// An outage in an overload is one however good the rest of it is.
func TestOutageInOverload(t *testing.T) {
	for name, tt := range map[string]struct {
		overload float64
		seconds  int
		good     func(second int, n int64) bool
		want     Outcome
	}{
		"an outage of 20 s":         {60, 60, func(s int, _ int64) bool { return s < 20 || s >= 40 }, Fail},
		"an outage of 2 s":          {60, 60, func(s int, _ int64) bool { return s < 20 || s >= 22 }, Fail},
		"hardly any in time":        {60, 60, func(s int, n int64) bool { return s < 20 || s >= 40 || n%20 == 0 }, Fail},
		"half as many as are due":   {60, 60, func(s int, n int64) bool { return s < 20 || s >= 40 || n%6 == 0 }, Fail},
		"oscillating 10 s / 10 s":   {60, 60, func(s int, _ int64) bool { return s/10%2 == 0 }, Fail},
		"oscillating 2 s / 2 s":     {60, 60, func(s int, _ int64) bool { return s/2%2 == 0 }, Fail},
		"an outage of one second":   {60, 60, func(s int, _ int64) bool { return s != 20 }, Pass},
		"one second in five":        {60, 60, func(s int, _ int64) bool { return s%5 != 0 }, Pass},
		"all that are due, no more": {60, 60, func(_ int, n int64) bool { return n%3 == 0 }, Pass},
		"none":                      {60, 60, func(int, int64) bool { return false }, Fail},
		"all":                       {21, 20, func(int, int64) bool { return true }, Pass},
	} {
		t.Run(name, func(t *testing.T) {
			p := overloadProfile(20*time.Second, 20*time.Second, "0.9")
			p.Flows[0].Load.Stages[2] = spec.Stage{Rate: tt.overload, For: time.Duration(tt.seconds) * time.Second, Overload: true}
			at, n := 0, int64(0)
			late := arrivingIn(p, func(second int) bool { at = second - overloadStart; return false })
			v := Judge(synthetic.New(p, 1, func(i int64) (float64, string) {
				n = i
				ms, outcome := late(i)
				if at >= 0 && at < tt.seconds && !tt.good(at, n) {
					ms = 900
				}
				return ms, outcome
			}).Record())
			g := findSLO(t, v, metric.Goodput)
			if g.Outcome != tt.want {
				t.Errorf("%s, want %s: %g, %s", g.Outcome, tt.want, *g.Observed, v.Claim)
			}
			if g.Outcome == Fail && name != "none" && (*g.Observed > 0.5 || !strings.Contains(fmt.Sprint(g.figures()), "observed")) {
				t.Errorf("observed %g: want that of the outage", *g.Observed)
			}
		})
	}
}

// Arrivals by chance are no outage, at any rate and bound, however long the overload is.
func TestChanceIsNoOutage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	outagesFound := 0
	for range 400 {
		due := []float64{0.5, 2, 9, 45, 450}[random.IntN(5)]
		counted := make([]stats.Batch, 20+random.IntN(300))
		for i := range counted {
			counted[i].N = poisson(random, due)
		}
		if from, to, found := worstOutage(counted, due); found {
			outagesFound++
			t.Logf("due %g, %d s: %d to %d", due, len(counted), from, to)
		}
	}
	if outagesFound > 4 {
		t.Errorf("%d outages in 400 overloads that just meet their bound", outagesFound)
	}
}

func poisson(random *rand.Rand, mean float64) (n float64) {
	for at := random.ExpFloat64(); at < mean; at += random.ExpFloat64() {
		n++
	}
	return n
}
