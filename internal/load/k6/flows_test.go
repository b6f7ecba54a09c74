package k6

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// Two flows of one process: the SLOs of each judge its own transactions and requests alone,
// and a stall counts for the flow whose executor noticed it.
func TestFlowsAreApart(t *testing.T) {
	of := func(flow string, bound float64) (all []spec.SLO) {
		for _, name := range []string{metric.TransactionDuration, metrics.HTTPReqDurationName} {
			all = append(all, spec.SLO{Flow: flow, Metric: name, Expression: "p(95)<100", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: bound})
		}
		return all
	}
	flows := []Flow{
		{Scenario: "views", SLOs: of("views", 100), Timeout: time.Second, DisplacedAfter: ms},
		{Scenario: "payments", SLOs: of("payments", 1000), Timeout: 5 * time.Second, DisplacedAfter: time.Second},
	}
	k := newK6Metrics()
	a := newAggregate(Session{Run: "r", Flows: flows})
	t0 := time.Now().Add(-time.Minute)
	a.start(t0, t0.Truncate(time.Second))
	for i, f := range flows { // each takes 300 ms, of which the generator delays 10 ms
		vu := string(rune('1' + i))
		request := k.trail(t0.Add(1300*ms), "/", vu, 280*ms, false)
		for i := range request.Samples {
			request.Samples[i].Tags = request.Samples[i].Tags.With("scenario", f.Scenario)
		}
		one := arrivals.Transaction{Scenario: f.Scenario, Due: time.Second, Latency: 300 * ms, Lag: 10 * ms, VU: vu}
		begun := arrivals.TransactionStart(one)
		a.add([]metrics.SampleContainer{&begun, request, &one, arrivals.Scheduled{Scenario: f.Scenario, Second: 1, Slots: int64(i + 1)}})
	}
	a.add([]metrics.SampleContainer{arrivals.Stall{Scenario: "payments", From: 1500 * ms, To: 1600 * ms}})
	got := pointsOf(a)[a.secondOf(time.Second)]
	for _, name := range []string{metric.TransactionDuration, metrics.HTTPReqDurationName} {
		for i, violations := range []float64{1, 0} {
			slo := flows[i].SLOs[slices.IndexFunc(flows[i].SLOs, func(s spec.SLO) bool { return s.Metric == name })]
			for counted, want := range map[string]float64{metric.Judged: 1, metric.Violations: violations, metric.ViolationsCleared: violations} {
				if is := got[metric.NewSeries(counted, "", "slo", slo.ID()).Key()]; is != want {
					t.Errorf("%s: %s of %s is %g, want %g", slo.Flow, counted, name, is, want)
				}
			}
		}
	}
	for name, want := range map[string][2]float64{
		metric.TransactionsScheduled: {1, 2}, metric.EndedTransactions: {1, 1},
		metric.GeneratorDisplaced: {1, 0}, metric.GeneratorStall: {0, 100},
	} {
		for i, f := range flows {
			if is := got[metric.NewSeries(name, "", "scenario", f.Scenario).Key()]; is != want[i] {
				t.Errorf("%s: %s is %g, want %g", f.Scenario, name, is, want[i])
			}
		}
	}
}

// A script can give its samples the scenario of another flow, as of all of a VU or of one
// request. They belong to the flow of their VU all the same.
func TestClaimedScenario(t *testing.T) {
	slo := spec.SLO{Metric: metrics.HTTPReqDurationName, Expression: "p(95)<100", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: 100}
	flows := []Flow{{Scenario: "views", Timeout: time.Second}, {Scenario: "payments", Timeout: time.Second}}
	for i := range flows {
		slo.Flow = flows[i].Scenario
		flows[i].SLOs = []spec.SLO{slo}
	}
	k := newK6Metrics()
	a := newAggregate(Session{Run: "r", Flows: flows})
	t0 := time.Now().Add(-time.Minute)
	a.start(t0, t0.Truncate(time.Second))
	request := k.trail(t0.Add(1300*ms), "/", "1", 280*ms, true)
	for i := range request.Samples {
		request.Samples[i].Tags = request.Samples[i].Tags.With("scenario", "payments")
	}
	one := arrivals.Transaction{Scenario: "views", Due: time.Second, Latency: 300 * ms, VU: "1"}
	begun := arrivals.TransactionStart(one)
	a.add([]metrics.SampleContainer{&begun, request, &one})
	for name, want := range map[string]string{metrics.HTTPReqDurationName: "views", metrics.HTTPReqFailedName + metric.RateTotal: "views", metric.ErrorsByClass: "views"} {
		i := slices.IndexFunc(a.index.series, func(s metric.Series) bool { return s.Name == name })
		if got := a.index.series[i].Label("scenario"); got != want {
			t.Errorf("%s is of %s, want %s", name, got, want)
		}
	}
	if m := a.index.find(request.Samples[0].TimeSeries, a); m.flow != 0 {
		t.Errorf("what it acknowledges is of flow %d", m.flow)
	}
}

// What a flow acknowledges is in its ledger, if it has one. What setup() acknowledges belongs
// to a profile's one scenario, and to none of several.
func TestAcknowledgedByFlow(t *testing.T) {
	for name, c := range map[string]struct {
		flows    []Flow
		scenario string // empty: setup()
		want     []int  // flows of the entries
		stray    bool
	}{
		"a flow with a ledger":      {[]Flow{{Scenario: "a"}, {Scenario: "b", Ledger: true}}, "b", []int{1}, false},
		"a flow without one":        {[]Flow{{Scenario: "a"}, {Scenario: "b", Ledger: true}}, "a", nil, false},
		"setup of flows":            {[]Flow{{Scenario: "a"}, {Scenario: "b", Ledger: true}}, "", nil, true},
		"setup, the first has one":  {[]Flow{{Scenario: "a", Ledger: true}, {Scenario: "b"}}, "", nil, true},
		"setup, no flow has one":    {[]Flow{{Scenario: "a"}, {Scenario: "b"}}, "", nil, false},
		"one scenario":              {[]Flow{{Scenario: "a", Ledger: true}}, "a", []int{0}, false},
		"setup of one scenario":     {[]Flow{{Scenario: "a", Ledger: true}}, "", []int{0}, false},
		"one scenario without any":  {[]Flow{{Scenario: "a"}}, "a", nil, false},
		"setup of one, without any": {[]Flow{{Scenario: "a"}}, "", nil, false},
	} {
		k := newK6Metrics()
		a := newAggregate(Session{Run: "r", Flows: c.flows})
		tags := k.registry.RootTagSet()
		if c.scenario != "" {
			tags = tags.With("scenario", c.scenario).With(arrivals.VUTag, "1")
		}
		a.add([]metrics.SampleContainer{metrics.Samples{{
			TimeSeries: metrics.TimeSeries{Metric: k.registry.MustNewMetric(acknowledgedMetric, metrics.Counter), Tags: tags},
			Time:       time.Now(), Value: 1, Metadata: map[string]string{acknowledgedKey: "x"},
		}}})
		taken := a.take(1 << 62)
		var got []int
		for _, e := range taken.entries {
			if got = append(got, e.Flow); e.Hash != ledger.HashOf("r", "x") {
				t.Errorf("%s: another identity", name)
			}
		}
		if !slices.Equal(got, c.want) || (taken.refused == errStray) != c.stray {
			t.Errorf("%s: of flows %v, refused %v; want %v, stray %t", name, got, taken.refused, c.want, c.stray)
		}
	}
}

// The forms of acknowledged identities are counted, and a rounded number ends the run.
func TestAcknowledgedForms(t *testing.T) {
	k := newK6Metrics()
	a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "a", Ledger: true}}})
	tags := k.registry.RootTagSet().With("scenario", "a").With(arrivals.VUTag, "1")
	acknowledged := k.registry.MustNewMetric(acknowledgedMetric, metrics.Counter)
	add := func(metadata map[string]string) {
		a.add([]metrics.SampleContainer{metrics.Samples{{
			TimeSeries: metrics.TimeSeries{Metric: acknowledged, Tags: tags}, Time: time.Now(), Value: 1, Metadata: metadata,
		}}})
	}
	for i := range 100 {
		add(map[string]string{acknowledgedKey: strings.Repeat("x", min(i, 40)+1)})
	}
	taken := a.take(1 << 62)
	count := map[string]float64{}
	for _, b := range taken.buckets {
		for _, p := range b.points(taken.series, taken.kinds) {
			if p.Series.Name == metric.AcknowledgedForms {
				count[p.Series.Label("form")] += p.Value
			}
		}
	}
	if len(count) != ledger.MaxForms+1 || count["1 characters, a-z"] != 1 || count[ledger.OtherForms] != 100-ledger.MaxForms || taken.refused != nil {
		t.Errorf("%v, refused %v", count, taken.refused)
	}
	add(map[string]string{acknowledgedKey: "9007199254740992", roundedKey: "yes"})
	if taken := a.take(1 << 62); taken.refused != errRounded {
		t.Errorf("refused %v", taken.refused)
	}
}
