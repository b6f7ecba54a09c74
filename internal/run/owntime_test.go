//go:build live

package run_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// What a script waits for, with real k6: requests that are open while it thinks are waited
// for, and so are sleeps and timers, which are part of the latency; what it computes is its own,
// and no reason for a FAIL.
func TestWhoseTimeItIs(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if took, err := time.ParseDuration(r.URL.Query().Get("for")); err == nil {
			time.Sleep(took)
		}
	}))
	defer server.Close()
	flow := func(name string) spec.Flow {
		return spec.Flow{
			Name: name, Scenario: name + ".js", SLOs: []spec.SLO{below(50, 250)}, Think: 2 * time.Second,
			Load: stages(spec.Stage{Rate: 3, For: time.Second}, spec.Stage{Rate: 3, For: 5 * time.Second, Judge: true}),
		}
	}
	get := "const url = __ENV.ASSAY_TARGET + '/?for=';\n"
	o := withFlows(t, options(t, loose(steady(1, time.Second)), "", server.URL), map[string]string{
		"asks.js": `
import http from 'k6/http';
import { think } from 'k6/x/assay/journey';
` + get + `export default async function () {
  const all = Promise.all([http.asyncRequest('GET', url + '600ms'), http.asyncRequest('GET', url + '1ms')]);
  think(1);
  await all;
}`,
		"sleeps.js": `
import http from 'k6/http';
import { sleep } from 'k6';
` + get + `export default async function () {
  http.get(url + '1ms');
  sleep(0.2);
  await new Promise((resolve) => setTimeout(resolve, 200));
  http.get(url + '1ms');
}`,
		"rests.js": `
import http from 'k6/http';
import { sleep } from 'k6';
` + get + `export default function () {
  http.get(url + '1ms');
  sleep(0.4);
}`,
		"computes.js": `
import http from 'k6/http';
` + get + `export default function () {
  http.get(url + '1ms');
  for (const end = Date.now() + 290; Date.now() < end;) {}
}`,
	}, flow("asks"), flow("sleeps"), flow("rests"), flow("computes"))
	r := certify(t, o)
	v := verdict.Judge(r)
	for i, want := range []struct {
		outcome        verdict.Outcome // of the SLO
		latency        float64         // at least
		least, most    float64         // of the script's own time, ms at the median
		thought, until float64         // ms of a transaction
	}{
		{verdict.Fail, 600, 0, 100, 50, 400},
		{verdict.Fail, 400, 0, 100, 0, 0},
		{verdict.Inconclusive, 400, 390, 1e6, 0, 0},
		{verdict.Inconclusive, 290, 280, 1e6, 0, 0},
	} {
		f := r.PerFlow()[i]
		median := func(name string) float64 {
			m, _ := f.Timeline.Hist(name, nil, whole(r)).Quantile(0.5)
			return m
		}
		of := slices.IndexFunc(v.SLOs, func(s verdict.SLO) bool { return s.Flow == f.Flow && s.Metric == metric.TransactionDuration })
		if got := v.SLOs[of]; got.Outcome != want.outcome {
			t.Errorf("%s: %+v", f.Flow, got)
		}
		if latency, own := median(metric.TransactionDuration), median(metric.ScriptTime); latency < want.latency*0.99 || own < want.least || own > want.most {
			t.Errorf("%s: %g ms, of which %g ms are the script's own", f.Flow, latency, own)
		}
		if thought := median(metric.ThinkTime); thought < want.thought || thought > want.until {
			t.Errorf("%s thought for %g ms", f.Flow, thought)
		}
	}
	if v.Outcome != verdict.Invalid || !strings.Contains(v.Claim, "computes: the script itself (JavaScript") {
		t.Error(v.Claim)
	}
}
