package plan_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

const second = time.Second

func window(from, to time.Duration) plan.Window {
	return plan.Window{Start: from * second, End: to * second}
}

// payment is a profile with every phase.
var payment = spec.Load{
	Unit: "tps", Target: 100, Warmup: 5 * second, Baseline: spec.Baseline{Rate: 25, For: 20 * second},
	Ramp: 15 * second, Hold: 60 * second, Cooldown: 5 * second,
}

func TestNewLaysOutPhases(t *testing.T) {
	got, err := plan.New(spec.Profile{Name: "payment", Flows: []spec.Flow{{Load: payment, Timeout: 10 * second}}}, 1, 7)
	if err != nil {
		t.Fatal(err)
	}
	baseline := window(5, 25)
	want := plan.Plan{
		Unit: "tps", Target: 100, Timeout: 10 * second, Seed: 7,
		Stages: []plan.Stage{
			{Name: plan.Warmup, Start: 0, Duration: 5 * second, From: 25, To: 25, Arrivals: 125},
			{Name: plan.Baseline, Start: 5 * second, Duration: 20 * second, From: 25, To: 25, Arrivals: 500},
			// 15 s at a mean of 62.5/s are 937.5: the half is rounded up here
			// and taken back in the next stage.
			{Name: plan.Ramp, Start: 25 * second, Duration: 15 * second, From: 25, To: 100, Arrivals: 938},
			{Name: plan.Hold, Start: 40 * second, Duration: 60 * second, From: 100, To: 100, Arrivals: 6000},
			{Name: plan.Cooldown, Start: 100 * second, Duration: 5 * second, From: 100, To: 100, Arrivals: 500},
		},
		Baseline: &baseline, Judged: []plan.Window{window(40, 100)},
		// No SLO on the transaction: 100/s for up to 10 s each, and headroom.
		Fleet:          plan.Fleet{Workers: []plan.Worker{{Segment: "0:1", Share: 1, VUs: 1500}}},
		DisplacedAfter: 100 * time.Millisecond,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Duration() != 105*second || got.Arrivals() != 8063 || got.JudgedArrivals() != 6000 {
		t.Errorf("duration %v, arrivals %d, judged %d", got.Duration(), got.Arrivals(), got.JudgedArrivals())
	}
}

func TestNewLaysOutStages(t *testing.T) {
	load := spec.Load{Unit: "rps", Even: true, Stages: []spec.Stage{
		{Rate: 50, For: 20 * second},
		{Rate: 300, For: 30 * second, Ramp: 5 * second, Judge: true},
		{Rate: 0, For: 10 * second},
		{Rate: 200, For: 20 * second, Judge: true},
		{Rate: 50, For: 5 * second, Ramp: 2 * second},
	}}
	got, err := plan.New(spec.Profile{Name: "sale", Flows: []spec.Flow{{Load: load, Timeout: second}}}, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	stages := []plan.Stage{
		{Name: plan.Baseline, Start: 0, Duration: 20 * second, From: 50, To: 50, Arrivals: 1000},
		{Name: plan.Ramp, Start: 20 * second, Duration: 5 * second, From: 50, To: 300, Arrivals: 875},
		{Name: plan.Hold, Start: 25 * second, Duration: 30 * second, From: 300, To: 300, Arrivals: 9000},
		{Name: plan.Cooldown, Start: 55 * second, Duration: 10 * second},
		{Name: plan.Hold, Start: 65 * second, Duration: 20 * second, From: 200, To: 200, Arrivals: 4000},
		{Name: plan.Ramp, Start: 85 * second, Duration: 2 * second, From: 200, To: 50, Arrivals: 250},
		{Name: plan.Cooldown, Start: 87 * second, Duration: 5 * second, From: 50, To: 50, Arrivals: 250},
	}
	if diff := cmp.Diff(stages, got.Stages); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]plan.Window{window(25, 55), window(65, 85)}, got.Judged); diff != "" {
		t.Error(diff)
	}
	if got.Baseline == nil || *got.Baseline != window(0, 20) {
		t.Errorf("baseline %v", got.Baseline)
	}
	if got.Target != 300 || !got.Even || got.Unit != "rps" || got.JudgedArrivals() != 13000 {
		t.Errorf("target %g, even %v, unit %s, judged %d", got.Target, got.Even, got.Unit, got.JudgedArrivals())
	}
}

// Only a stage before the first judged one, and before every overload, is a baseline.
func TestNewWithoutBaseline(t *testing.T) {
	judged := spec.Stage{Rate: 10, For: 10 * second, Judge: true}
	overload, after := spec.Stage{Rate: 15, For: 10 * second, Overload: true}, spec.Stage{Rate: 6, For: 60 * second}
	for _, stages := range [][]spec.Stage{
		{judged}, {judged, after}, {judged, overload, after}, {overload, after, judged}, {{For: 10 * second}, judged, after},
	} {
		got, err := plan.New(spec.Profile{Flows: []spec.Flow{{Load: spec.Load{Unit: "tps", Stages: stages}, Timeout: second}}}, 1, 0)
		if err != nil || got.Baseline != nil {
			t.Errorf("%+v: baseline %v, error %v", stages, got.Baseline, err)
		}
		if last := got.Stages[len(got.Stages)-1]; !stages[len(stages)-1].Judge && last.Name != plan.Cooldown {
			t.Errorf("%+v ends with %s", stages, last.Name)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	with := func(change func(*spec.Load)) spec.Load {
		l := payment
		change(&l)
		return l
	}
	for _, c := range []struct {
		name    string
		load    spec.Load
		workers int
		want    string
	}{
		{"no worker", payment, 0, "0 workers"},
		{"negative workers", payment, -1, "-1 workers"},
		{"nothing", spec.Load{}, 1, "no transaction"},
		{"no hold", with(func(l *spec.Load) { l.Hold = 0 }), 1, "no transaction"},
		{"no rate", with(func(l *spec.Load) { l.Target, l.Baseline.Rate = 0, 0 }), 1, "no transaction"},
		{"not judged", spec.Load{Stages: []spec.Stage{{Rate: 10, For: second}}}, 1, "no transaction"},
		{"too fast", with(func(l *spec.Load) { l.Target = 3 * plan.MaxRate }), 2, "150000/s per worker is more"},
		{"too fast by far", with(func(l *spec.Load) { l.Target = 1e7 }), 3, "3333333/s per worker is more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := plan.New(spec.Profile{Name: "p", Flows: []spec.Flow{{Load: c.load, Timeout: second}}}, c.workers, 0)
			if err == nil || !strings.HasPrefix(err.Error(), "plan p: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, wanted %q", err, c.want)
			}
		})
	}
}

func percentile(name string, quantile, boundMs float64) spec.SLO {
	return spec.SLO{Metric: name, Aggregate: spec.Percentile, Quantile: quantile, Operator: "<", Bound: boundMs}
}

func TestVUs(t *testing.T) {
	for _, c := range []struct {
		name string
		rate float64
		slos []spec.SLO
		want int
	}{
		{"least", 0.1, nil, 10},
		{"time-out", 100, nil, 1500},
		// 0.95 * 0.2 s + 0.05 * 10 s = 0.69 s
		{"p95", 100, []spec.SLO{percentile("transaction_duration", 0.95, 200)}, 104},
		// p99: 0.99 * 0.4 s + 0.01 * 10 s = 0.496 s, the tighter mean
		{"p95 and p99", 100, []spec.SLO{percentile("transaction_duration", 0.95, 200), percentile("transaction_duration", 0.99, 400)}, 75},
		{"a request does not bound a transaction", 100, []spec.SLO{percentile("http_req_duration", 0.95, 200)}, 1500},
		{"bound over the time-out", 100, []spec.SLO{percentile("transaction_duration", 0.95, 1e6)}, 1500},
	} {
		if got := plan.VUs(c.rate, c.slos, 10*second, 0); got != c.want {
			t.Errorf("%s: %d VUs, wanted %d", c.name, got, c.want)
		}
	}
}

// A worker without enough VUs would delay arrivals and charge the system for it.
func TestTooManyVUsAreRefused(t *testing.T) {
	p := spec.Profile{Name: "p", Flows: []spec.Flow{{Timeout: 10 * second, Load: spec.Load{Target: 3000, Hold: 10 * second}}}}
	if _, err := plan.New(p, 1, 0); err == nil || !strings.Contains(err.Error(), "45000 VUs per worker") {
		t.Errorf("error %v", err)
	}
	if _, err := plan.New(p, 3, 0); err != nil {
		t.Errorf("three workers: %v", err)
	}
	// Thinking transactions keep VUs too, and a shorter timeout does not help.
	p = spec.Profile{Name: "p", Flows: []spec.Flow{{Timeout: second, Think: 10 * time.Minute, Load: spec.Load{Target: 100, Hold: 10 * second}}}}
	const want = "100/s needs 90150 VUs per worker, more than the maximum of 20000, with up to 10m0s of think time in a transaction: use more workers, a shorter think, a shorter timeout or"
	if _, err := plan.New(p, 1, 0); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v", err)
	}
}

// A slot is displaced once it starts later than 100 ms, or than the tightest
// bound of a latency where that is less.
func TestDisplacedAfterIsTheTightestLatency(t *testing.T) {
	for _, c := range []struct {
		name string
		slos []spec.SLO
		want time.Duration
	}{
		{"none", nil, 100 * time.Millisecond},
		{"looser bounds", []spec.SLO{percentile("transaction_duration", 0.95, 250), percentile("http_req_duration", 0.95, 200)}, 100 * time.Millisecond},
		{"at the limit", []spec.SLO{percentile("transaction_duration", 0.95, 100)}, 100 * time.Millisecond},
		{"tightest", []spec.SLO{percentile("transaction_duration", 0.95, 80), percentile("http_req_duration", 0.95, 20.5)}, 20500 * time.Microsecond},
		{"not of the ledger", []spec.SLO{percentile(metric.PersistLag, 0.99, 1)}, 100 * time.Millisecond},
		{"not of a script's trend", []spec.SLO{percentile("answer_bytes", 0.99, 1)}, 100 * time.Millisecond},
		{"not of a rate", []spec.SLO{{Metric: "http_req_failed", Aggregate: spec.Rate, Operator: "<", Bound: 0.01}}, 100 * time.Millisecond},
	} {
		got, err := plan.New(spec.Profile{Flows: []spec.Flow{{Load: payment, Timeout: second, SLOs: c.slos}}}, 1, 0)
		if err != nil || got.DisplacedAfter != c.want {
			t.Errorf("%s: displaced after %v, wanted %v, error %v", c.name, got.DisplacedAfter, c.want, err)
		}
	}
}

// Shares are in proportion to the weights, and their segments cover the schedule.
func TestShares(t *testing.T) {
	vus := func(share float64) int { return int(math.Round(60 * share)) }
	for _, c := range []struct {
		weights []int
		want    plan.Fleet
	}{
		{[]int{7}, plan.Fleet{Workers: []plan.Worker{{Segment: "0:1", Share: 1, VUs: 60}}}},
		{[]int{1, 1, 1}, plan.Fleet{
			Workers:  []plan.Worker{{Segment: "0:1/3", Share: 1. / 3, VUs: 20}, {Segment: "1/3:2/3", Share: 1. / 3, VUs: 20}, {Segment: "2/3:1", Share: 1. / 3, VUs: 20}},
			Sequence: "0,1/3,2/3,1",
		}},
		{[]int{4, 2}, plan.Fleet{
			Workers:  []plan.Worker{{Segment: "0:4/6", Share: 4. / 6, VUs: 40}, {Segment: "4/6:1", Share: 2. / 6, VUs: 20}},
			Sequence: "0,4/6,1",
		}},
	} {
		if diff := cmp.Diff(c.want, plan.Shares(c.weights, vus)); diff != "" {
			t.Error(diff)
		}
	}
}
