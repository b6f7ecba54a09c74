package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/project/model/route"
	"assay.dev/assay/internal/project/model/traffic"
)

// staged makes the stages of flows.
func staged(flows ...[]uint32) Document {
	p := proposal{Options: Options{Scale: 2, Zone: time.UTC}, perFlow: flows, total: make([]uint32, len(flows[0]))}
	for _, seconds := range flows {
		for i, n := range seconds {
			p.total[i] += n
		}
	}
	d := Document{Flows: make([]Flow, len(flows))}
	p.stages(&d)
	return d
}

func near(got, want, share float64) bool { return math.Abs(got-want) <= share*want }

// In the step with the peak minute flows have the rates of that minute. One whose own busiest
// minute is in another step, and stands out there, has the rate of that one there; where it
// does not stand out, the mean.
func TestOwnPeak(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	many := series(random, level{600, 400, false}, level{1200, 200, false})
	few := series(random, level{1200, 2, false}, level{60, 16, false}, level{540, 2, false})
	flat := series(random, level{1800, 5, false})
	p := proposal{Options: Options{Scale: 1, Zone: time.UTC}, perFlow: [][]uint32{many, few, flat}, top: peakOf(many, 60)}
	rates := p.stageRates([]span{{0, 600}, {600, 1800}}, 0)
	minute := func(seconds []uint32) float64 {
		return float64(sumOf(seconds[p.top.at:p.top.at+60])) / 60
	}
	for f, want := range [][]float64{{minute(many), 200}, {minute(few), peakOf(few, 60).rate()}, {minute(flat), 5}} {
		if got := rates[f]; got[0] != want[0] || !near(got[1], want[1], 0.02) {
			t.Errorf("flow %d has the rates %v, want %v", f, got, want)
		}
	}
}

// Without a quiet time before the peak, the profile has a baseline that the log has not; what
// comes after the event is left out; a flow that can decide nothing is judged where it has the
// most transactions, and has one there.
func TestStages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	d := staged(
		series(random, level{600, 300, false}, level{1800, 200, false}, level{600, 20, false}),
		series(random, level{20, 0, false}, level{1, 3, false}, level{2979, 0, false}),
	)
	if len(d.Stages) != 3 || d.Stages[0].Start != "" || d.Stages[0].Judge || !d.Stages[1].Judge || !d.Stages[1].Peak || !d.Stages[2].Judge {
		t.Fatalf("%+v", d.Stages)
	}
	if s := d.Stages; !near(s[0].Rate, s[1].Rate/4, 0.001) || !near(s[1].Rate, 600, 0.03) || !near(s[2].Rate, 400, 0.02) || s[1].For != peakMost || s[2].For != stageMost {
		t.Errorf("%+v", d.Stages)
	}
	if diff := cmp.Diff([]bool{false, true, true}, d.Flows[0].Judged); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]bool{false, true, false}, d.Flows[1].Judged); diff != "" || d.Flows[1].Stages[1]*peakMost < 1 || d.Flows[1].Stages[2] != 0 {
		t.Errorf("%v: %s", d.Flows[1].Stages, diff)
	}
}

// A flow has the conditions that its largest judged stage decides, and is judged where all of
// them are decided.
func TestJudge(t *testing.T) {
	stages := []Stage{{For: 30}, {For: 100, Judge: true, Peak: true}, {For: 50, Judge: true}}
	const p95, p99, failed = "transaction_duration p(95)<50", "transaction_duration p(99)<80", "http_req_failed rate<0.01"
	for name, c := range map[string]struct {
		rates  []float64
		slo    []string
		judged []bool
		most   int64
	}{
		"all":                        {[]float64{9, 5, 10}, []string{p95, p99, failed}, []bool{false, true, true}, 500},
		"a small stage":              {[]float64{90, 5, 9.9}, []string{p95, p99, failed}, []bool{false, true, false}, 500},
		"only a low percentile":      {[]float64{90, 4.99, 2}, []string{p95}, []bool{false, true, true}, 499},
		"and in one stage":           {[]float64{90, 1, 1.9}, []string{p95}, []bool{false, true, false}, 100},
		"a peak of its own":          {[]float64{0, 0, 10}, []string{p95, p99, failed}, []bool{false, false, true}, 500},
		"nothing":                    {[]float64{90, 0.2, 1.9}, []string{p95}, []bool{false, false, true}, 95},
		"nothing, and no whole one":  {[]float64{0, 0.001, 0}, []string{p95}, []bool{false, true, false}, 0},
		"a number of tenths":         {[]float64{0, 1, 2.3}, []string{p95}, []bool{false, true, true}, 115},
		"as many, but for a decimal": {[]float64{0, 4.35, 10.0}, []string{p95, p99, failed}, []bool{false, false, true}, 500},
	} {
		d := Document{Stages: stages, Flows: []Flow{{Stages: c.rates, Share: 1, Latency: &Latency{P95: 20, P99: 50}}}}
		p := proposal{}
		p.judge(&d)
		var slo []string
		for _, metric := range []string{durationMetric, failedMetric} {
			for _, of := range d.Flows[0].SLO[metric] {
				slo = append(slo, metric+" "+of)
			}
		}
		if !slices.Equal(slo, c.slo) || !slices.Equal(d.Flows[0].Judged, c.judged) || p.judgments[0].most != c.most || p.judgments[0].undecided != (c.most < 100) {
			t.Errorf("%s: %s judged in %v, %+v", name, slo, d.Flows[0].Judged, p.judgments[0])
		}
	}
}

// Flows that can decide nothing by themselves are a part of what is left if they can together.
func TestSmallFlows(t *testing.T) {
	tally := traffic.New(traffic.Options{})
	add := func(method accesslog.Method, path string, every, from, to int) {
		for at := from; at < to; at++ {
			for i := 0; i < 1 || i < -every; i++ {
				if every > 0 && at%every != 0 {
					continue
				}
				tally.Add(&traffic.Request{At: (1_716_041_520 + int64(at)) * 1e6, Latency: accesslog.NoLatency, Status: 200, Shape: route.AppendShape(nil, byte(method), []byte(path))})
			}
		}
	}
	add(accesslog.GET, "/a", -10, 0, 1200)
	add(accesslog.GET, "/b", 2, 0, 1200) // 60 in two minutes
	add(accesslog.GET, "/c", 2, 0, 1200)
	add(accesslog.POST, "/d", 4, 0, 1200)
	add(accesslog.PUT, "/e", 4, 0, 1200)
	d, err := Propose(Observed{Tally: tally, From: 1_716_041_520, To: 1_716_042_720}, Options{Profile: "match-day", Scale: 1, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range d.Flows {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"get-a", "post-d", "put-e", "rest"}, names); diff != "" {
		t.Error(diff)
	}
	notes := strings.Join(d.Notes, "\n")
	for _, want := range []string{"get-b, get-c: too few transactions", "post-d has 30 transactions in its largest judged stage, and an SLO needs 100", "put-e has 30"} {
		if !strings.Contains(notes, want) {
			t.Errorf("note %q in:\n%s", want, notes)
		}
	}
}
