package search

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

func payment() spec.Profile {
	return spec.Profile{
		Name: "payment",
		Flows: []spec.Flow{{Load: spec.Load{
			Unit: "tps", Target: 100, Warmup: time.Minute, Baseline: spec.Baseline{Rate: 25, For: 20 * time.Second},
			Ramp: 2 * time.Second, Hold: 10 * time.Minute, HoldMax: 30 * time.Minute, Cooldown: 6 * time.Second,
		}, Timeout: 10 * time.Second, SLOs: []spec.SLO{{
			Metric: metric.TransactionDuration, Expression: "p(95)<250", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: 250, Basis: spec.Inferred,
		}}}},
	}
}

// A trial changes only the lengths of a profile and its basis, and lengthens no phase.
func TestShorten(t *testing.T) {
	p := payment()
	short, changed, err := Shorten(p, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	want := payment()
	want.Flows[0].Load.Warmup, want.Flows[0].Load.Baseline.For, want.Flows[0].Load.Hold, want.Flows[0].Load.Cooldown = 3*time.Second, time.Second, time.Minute, 2*time.Second
	want.Flows[0].Load.HoldMax, want.Flows[0].SLOs[0].Basis = 0, spec.Counted
	if diff := cmp.Diff(want, short); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"warmup": "3s", "baseline": "1s", "hold": "1m0s", "hold_max": "none", "cooldown": "2s", "basis": "counted"}, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(payment(), p); diff != "" {
		t.Errorf("the profile itself changes:\n%s", diff)
	}
	p.Flows[0].Load.Stages = []spec.Stage{{Rate: 100, For: time.Minute, Judge: true}}
	var refused *spec.Error
	if _, _, err := Shorten(p, time.Minute); !errors.As(err, &refused) || refused.Hint() == "" {
		t.Errorf("stages: %v", err)
	}
}

// Trials with too few transactions are refused, with the shortest length that would do.
func TestCheckSamples(t *testing.T) {
	for seconds, want := range map[float64]string{
		1:    "",
		0.99: "lengthen them with --trial 1s, better several times that, or start higher with --from",
	} {
		a := Parameters{Seconds: seconds, Range: Range{From: 100}}
		if got := hint.Of(a.CheckSamples(payment())); got != want {
			t.Errorf("%gs: %q, want %q", seconds, got, want)
		}
	}
	others := payment()
	others.Flows[0].SLOs[0].Metric = "http_req_duration" // a transaction may make any number of requests
	if err := (Parameters{Seconds: 1, Range: Range{From: 1}}).CheckSamples(others); err != nil {
		t.Error(err)
	}
}

func TestJudge(t *testing.T) {
	observed := 347.6
	broken := verdict.SLO{Outcome: verdict.Fail, SLO: certificate.SLO{Metric: "transaction_duration", Expression: "p(95)<250", Observed: &observed, Limit: 250, Unit: "ms"}}
	undecided := verdict.SLO{Outcome: verdict.Inconclusive, SLO: certificate.SLO{Metric: "transaction_duration", Expression: "p(95)<250", Observed: &observed, Limit: 250, Unit: "ms"}}
	rule := func(id string, o verdict.Outcome) verdict.Rule {
		return verdict.Rule{Outcome: o, Rule: certificate.Rule{ID: id, Detail: "why"}}
	}
	invalid := func(rules ...string) (v verdict.Verdict) {
		v.Outcome = verdict.Invalid
		for _, id := range rules {
			v.Rules = append(v.Rules, rule(id, verdict.Invalid))
		}
		return v
	}
	held := verdict.SLO{Outcome: verdict.Pass}
	for name, c := range map[string]struct {
		v        verdict.Verdict
		want     Result
		decisive string
	}{
		"pass": {verdict.Verdict{Outcome: verdict.Pass, SLOs: []verdict.SLO{held}}, Clear, ""},
		"fail": {verdict.Verdict{Outcome: verdict.Fail, SLOs: []verdict.SLO{held, broken}}, Broken, "transaction_duration p(95)<250, 348 ms observed"},
		"lost": {verdict.Verdict{Outcome: verdict.LostWrite, Ledger: &certificate.Ledger{Missing: 3}}, Broken, "ledger missing==0, 3 observed"},
		"saturated": {
			verdict.Verdict{Outcome: verdict.Fail, SLOs: []verdict.SLO{held}, Rules: []verdict.Rule{rule("steady", verdict.Fail)}}, Broken, "steady: why",
		},
		"close": {verdict.Verdict{Outcome: verdict.Inconclusive, SLOs: []verdict.SLO{held, undecided}}, Close, "transaction_duration p(95)<250, 348 ms observed"},
		"too few samples": {
			verdict.Verdict{Outcome: verdict.Inconclusive, SLOs: []verdict.SLO{undecided}, Rules: []verdict.Rule{rule("samples", verdict.Inconclusive)}},
			Scarce, "transaction_duration p(95)<250, 348 ms observed",
		},
		"lost arrivals":           {invalid("generator-drops"), Starved, "generator-drops: why"},
		"displaced load":          {invalid("offered"), Starved, "offered: why"},
		"all generator rules":     {invalid("generator-drops", "offered", "generator-lag", "steady"), Starved, "generator-drops: why"},
		"generator's share":       {invalid("generator-lag"), Starved, "generator-lag: why"},
		"throttled, and late":     {invalid("cpu-throttled", "offered"), Starved, "cpu-throttled: why"},
		"a lost worker":           {invalid("worker-lost", "frames"), Void, "worker-lost: why"},
		"slower, near an SLO":     {invalid("steady"), Close, "steady: why"},
		"slower, and more":        {invalid("frames", "steady"), Void, "frames: why"},
		"the generator, and more": {invalid("offered", "frames"), Void, "offered: why"},
		"the record":              {invalid("frames", "generator-drops"), Void, "frames: why"},
		"no rule says why":        {invalid(), Void, ""},
		"an SLO without any samples": {
			verdict.Verdict{Outcome: verdict.Invalid, Rules: []verdict.Rule{rule("offered", verdict.Invalid)}, SLOs: []verdict.SLO{{Outcome: verdict.Invalid, SLO: certificate.SLO{Metric: "m", Expression: "e"}}}},
			Void, "m e",
		},
	} {
		c.v.Claim = name
		var p Probe
		p.Judge(c.v)
		if p.Result != c.want || p.Claim != name || p.Verdict != c.v.Outcome.String() || p.Decisive.Text() != c.decisive {
			t.Errorf("%s: %s by %q: %+v", name, p.Result, p.Decisive.Text(), p)
		}
	}
}

// A system whose transactions all ended needs no rest; otherwise the slowest one says
// how long, up to a limit.
func TestRest(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	slowest := func(ms float64) map[string]certificate.Latency {
		return map[string]certificate.Latency{verdict.TransactionName: {Max: &ms}, "pay": {}}
	}
	for want, v := range map[time.Duration]verdict.Verdict{
		0:               {Outcomes: certificate.Outcomes{Failed: n(100), TimedOut: n(0), Dropped: n(0)}, Latency: slowest(8000)},
		3 * time.Second: {Outcomes: certificate.Outcomes{TimedOut: n(1)}, Latency: slowest(3000)},
		maxRest:         {Outcomes: certificate.Outcomes{Dropped: n(1)}, Latency: slowest(60_000)},
	} {
		if got := Rest(v); got != want {
			t.Errorf("%s, want %s: %+v", got, want, v.Outcomes)
		}
	}
	if got := Rest(verdict.Verdict{Outcomes: certificate.Outcomes{Dropped: n(1)}}); got != maxRest {
		t.Errorf("%s without a latency, want %s", got, maxRest)
	}
}

// A longer trial of a load has a longer hold, and its record says so; no longer than that
// of a certificate, and never shorter than asked for. Stages have their own lengths.
func TestLongerTrials(t *testing.T) {
	stages := payment()
	stages.Flows[0].Load = spec.Load{Unit: "tps", Stages: []spec.Stage{{Rate: 100, For: time.Minute, Judge: true}}}
	for name, c := range map[string]struct {
		p     spec.Profile
		hold  time.Duration
		times int
		want  time.Duration
	}{
		"the first":           {payment(), 20 * time.Second, 1, 20 * time.Second},
		"the second":          {payment(), 20 * time.Second, 2, 40 * time.Second},
		"the sixth":           {payment(), 20 * time.Second, 32, 10 * time.Minute},
		"longer than a limit": {payment(), 15 * time.Minute, 2, 15 * time.Minute},
		"stages":              {stages, time.Minute, 4, time.Minute},
	} {
		short, changed := c.p, map[string]string{}
		if !c.p.HasStages() {
			var err error
			if short, changed, err = Shorten(c.p, c.hold); err != nil {
				t.Fatal(err)
			}
		}
		trials := NewTrials(Parameters{Range: Range{From: 100, Max: 500}}, short, changed)
		o, err := trials.options(50, c.times)
		if err != nil {
			t.Fatal(err)
		}
		if hold := o.Profile.TargetHold(); hold != c.want || !c.p.HasStages() && o.Overrides["hold"] != c.want.String() || o.Profile.Target() != 50 {
			t.Errorf("%s: %s, recorded as %q", name, hold, o.Overrides["hold"])
		}
		if changed["hold"] != "" && changed["hold"] != c.hold.String() {
			t.Errorf("%s: the trials after it last %s", name, changed["hold"])
		}
	}
}
