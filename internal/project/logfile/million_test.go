//go:build live

package logfile

import (
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/project/model"
	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/modeltest"
)

// busiest is the most requests of any length seconds.
func busiest(seconds []int, length int) (most float64) {
	for i := length; i <= len(seconds); i++ {
		sum := 0
		for _, n := range seconds[i-length : i] {
			sum += n
		}
		most = max(most, float64(sum)/float64(length))
	}
	return most
}

// A million lines with a known mix, known rates and known keys.
func TestMatchDay(t *testing.T) {
	budget.CPUs(t, 0.5)
	day := modeltest.MatchDay(1)
	from, to := io.Pipe()
	var truth modeltest.Truth
	go func() {
		var err error
		truth, err = day.Write(to, accesslog.Combined)
		to.CloseWithError(err)
	}()
	d := observe(t, from, Options{})
	if d.Requests != 1_000_000 || d.Inputs[0].Lines != 1_000_000 {
		t.Fatalf("%d requests in %d lines", d.Requests, d.Inputs[0].Lines)
	}
	all := make([]int, len(truth.Seconds[0]))
	for _, seconds := range truth.Seconds {
		for i, n := range seconds {
			all[i] += n
		}
	}
	within(t, "the mean rate", d.Rates.Mean, 1e6/float64(len(all)), 0.001)
	within(t, "the peak minute", d.Rates.PeakMinute.Rate, busiest(all, 60), 0.001)
	within(t, "the peak second", d.Rates.PeakSecond.Rate, busiest(all, 1), 0.001)
	within(t, "the dispersion", *d.Rates.Dispersion, 1, 0.1)

	// The steps are those of the log, to a few seconds; the profile has the rates of each
	// flow in them, and in the peak those of the busiest minute.
	start := day.Start
	peakAt := slices.IndexFunc(d.Stages, func(s model.Stage) bool { return s.Peak })
	if len(d.Stages) != len(day.Stages)-1 || peakAt != 2 { // the last one is after the event
		t.Fatalf("stages: %+v", d.Stages)
	}
	begin, err := time.Parse(time.RFC3339, d.Rates.PeakMinute.Start)
	if err != nil {
		t.Fatal(err)
	}
	second := int(begin.Sub(start).Seconds())
	names := []string{"get-api-v1-matches", "get-api-v1-products", "", "post-api-v1-orders", "get-static-app-js", "get-healthz", "rest"}
	flows := map[string]model.Flow{}
	for _, f := range d.Flows {
		flows[f.Name] = f
	}
	at := 0
	for i, s := range day.Stages[:len(d.Stages)] {
		end := at + s.Seconds
		got, err := time.Parse(time.RFC3339, d.Stages[i].Start)
		if err != nil || got.Sub(start.Add(time.Duration(at)*time.Second)).Abs() > 15*time.Second {
			t.Errorf("stage %d starts at %v, want %d s after %v", i, got, at, start)
		}
		rateFrom, rateTo := at, end
		if i == peakAt {
			rateFrom, rateTo = second, second+60
		}
		for f, name := range names {
			if name == "" {
				continue
			}
			want := float64(truth.Requests(f, rateFrom, rateTo)) / float64(rateTo-rateFrom)
			if name == "get-api-v1-products" { // the list and a product
				want += float64(truth.Requests(2, rateFrom, rateTo)) / float64(rateTo-rateFrom)
			}
			if i == 0 { // the baseline has a fifth of the peak at least
				want *= 0.2 * d.Stages[peakAt].Rate / s.Rate
			}
			within(t, name+" in stage "+d.Stages[i].Start, flows[name].Stages[i], want, 0.01)
		}
		at = end
	}
	for f, name := range names {
		flow, is := flows[name]
		switch {
		case name == "" || name == "get-api-v1-products":
			continue
		case !is:
			t.Fatalf("no flow %s in %v", name, flows)
		}
		n := float64(truth.Requests(f, 0, len(all)))
		within(t, name, float64(flow.Requests), n, 0)
		within(t, name+": peak minute", flow.Rates.PeakMinute.Rate, busiest(truth.Seconds[f], 60), 0.001)
		within(t, name+": errors", flow.Errors, float64(truth.Errors[f])/n, 0.001)
		within(t, name+": p95", flow.Latency.P95, -day.Flows[f].Latency*math.Log(0.05), 0.1)
	}
	for f, template := range map[int]string{0: "/api/v1/matches/{id}/score", 1: "/api/v1/products/{id}"} {
		e := flows[names[f]].Endpoints[0]
		if e.Template != template || e.Keys == nil {
			t.Fatalf("%+v", e)
		}
		if math.Abs(e.Keys.Exponent-day.Flows[f].Exponent) > 0.03 {
			t.Errorf("%s has the exponent %g, want %g", template, e.Keys.Exponent, day.Flows[f].Exponent)
		}
		within(t, template+": keys", float64(e.Keys.Total), float64(day.Flows[f].Keys), 0.05)
	}
	if f := flows["post-api-v1-orders"]; !f.Writes {
		t.Errorf("%+v", f)
	}

	guide, err := os.ReadFile("../../../docs/model.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.Trim(string(page.Terminal(model.Page(d), page.Columns, false)), "\n")
	if !strings.Contains(string(guide), "```text\n"+shown+"\n```\n") {
		t.Errorf("docs/model.md does not show this output:\n%s", shown)
	}
}
