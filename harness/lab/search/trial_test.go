package search

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/harness/judge/verdict"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

func payment() spec.Profile {
	return spec.Profile{
		Name: "payment",
		Load: spec.Load{
			Unit: "tps", Target: 100, Warmup: time.Minute, Baseline: spec.Baseline{Rate: 25, For: 20 * time.Second},
			Ramp: 2 * time.Second, Hold: 10 * time.Minute, Cooldown: 6 * time.Second,
		},
		Timeout: 10 * time.Second,
		SLOs: []spec.SLO{{
			Metric: metric.TransactionDuration, Expression: "p(95)<250", Aggregate: spec.Percentile, Quantile: 0.95, Operator: "<", Bound: 250,
		}},
	}
}

// A trial keeps of a profile all but lengths, and no phase grows.
func TestShorten(t *testing.T) {
	p := payment()
	short, changed, err := Shorten(p, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	want := payment()
	want.Load.Warmup, want.Load.Baseline.For, want.Load.Hold, want.Load.Cooldown = 5*time.Second, time.Second, time.Minute, 5*time.Second
	if diff := cmp.Diff(want, short); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"warmup": "5s", "baseline": "1s", "hold": "1m0s", "cooldown": "5s"}, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(payment(), p); diff != "" {
		t.Errorf("the profile itself changes:\n%s", diff)
	}
	p.Load.Stages = []spec.Stage{{Rate: 100, For: time.Minute, Judge: true}}
	var refused *spec.Error
	if _, _, err := Shorten(p, time.Minute); !errors.As(err, &refused) || refused.Hint == "" {
		t.Errorf("stages: %v", err)
	}
}

// Trials with too few transactions are refused, with the least that would do.
func TestCanTell(t *testing.T) {
	for seconds, want := range map[float64]string{
		4: "",
		3: "lengthen them with --trial 4s, better several times that, or begin higher with --from",
	} {
		a := Asked{Seconds: seconds, Range: Range{From: 100}}
		var refused *Refusal
		got := ""
		if errors.As(a.CanTell(payment().SLOs), &refused) {
			got = refused.Hint
		}
		if got != want {
			t.Errorf("%gs: %q, want %q", seconds, got, want)
		}
	}
	others := payment().SLOs
	others[0].Metric = "http_req_duration" // a flow makes as many as it likes
	if err := (Asked{Seconds: 1, Range: Range{From: 1}}).CanTell(others); err != nil {
		t.Error(err)
	}
}

func TestJudge(t *testing.T) {
	observed := 347.6
	broken := verdict.SLO{Metric: "transaction_duration", Expression: "p(95)<250", Observed: &observed, Limit: 250, Unit: "ms", Outcome: verdict.Fail}
	starved := verdict.Rule{ID: "generator-cpu", Outcome: verdict.Invalid, Detail: "busy"}
	void := verdict.Rule{ID: "frames", Outcome: verdict.Invalid, Detail: "gaps"}
	for name, c := range map[string]struct {
		v        verdict.Verdict
		want     Result
		decisive string
	}{
		"pass":               {verdict.Verdict{Outcome: verdict.Pass, SLOs: []verdict.SLO{{Outcome: verdict.Pass}}}, Good, ""},
		"fail":               {verdict.Verdict{Outcome: verdict.Fail, SLOs: []verdict.SLO{{Outcome: verdict.Pass}, broken}}, Bad, "transaction_duration p(95)<250, 347.6 ms observed"},
		"lost":               {verdict.Verdict{Outcome: verdict.LostWrite, Ledger: &verdict.Ledger{Missing: 3}}, Bad, "ledger missing==0, 3 observed"},
		"undecided":          {verdict.Verdict{Outcome: verdict.Inconclusive, Rules: []verdict.Rule{{ID: "steady", Outcome: verdict.Inconclusive, Detail: "short"}}}, Unclear, "steady: short"},
		"the generator":      {verdict.Verdict{Outcome: verdict.Invalid, Rules: []verdict.Rule{starved}}, Starved, "generator-cpu: busy"},
		"and more":           {verdict.Verdict{Outcome: verdict.Invalid, Rules: []verdict.Rule{starved, void}}, Void, "generator-cpu: busy"},
		"the record":         {verdict.Verdict{Outcome: verdict.Invalid, Rules: []verdict.Rule{void, starved}}, Void, "frames: gaps"},
		"an SLO that cannot": {verdict.Verdict{Outcome: verdict.Invalid, Rules: []verdict.Rule{starved}, SLOs: []verdict.SLO{{Metric: "m", Expression: "e", Outcome: verdict.Invalid}}}, Void, "m e"},
	} {
		c.v.Claim = name
		var p Probe
		p.Judge(c.v)
		if p.Result != c.want || p.Claim != name || p.Verdict != c.v.Outcome.String() || p.Decisive.Text() != c.decisive {
			t.Errorf("%s: %s by %q: %+v", name, resultWords[p.Result], p.Decisive.Text(), p)
		}
	}
}
