package k6

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/metric"
)

const dsn = `assay:Zq7&x"w+r%z@tcp(db.test:3306)/shop`

// Whatever a script makes names, tags and classes of, no series has the password in it.
func TestSeriesHoldNoSecret(t *testing.T) {
	mask.AddDSN(dsn)
	mask.Add("pay") // too short
	k := newK6Metrics()
	slos := paySLOs()
	slos[1].Selector = []metric.Label{{Key: "name", Value: "checkout-2026"}}
	mask.Add("checkout-2026", "payment-flow") // words of the plan, and passwords too
	a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment-flow", SLOs: slos}}})
	t0 := time.Now().Truncate(time.Second)
	a.start(t0, t0)
	own, err := k.registry.NewMetric("spans_checkout_2026", metrics.Trend)
	if err != nil {
		t.Fatal(err)
	}
	mask.Add("spans_checkout")
	long := strings.Repeat("a class ", 6) + dsn
	for _, s := range []struct {
		of   *metrics.Metric
		tags []string
	}{
		{k.builtin.HTTPReqDuration, []string{"name", "http://127.0.0.1/?q=" + url.QueryEscape(dsn), "method", dsn, "scenario", dsn}},
		{k.builtin.HTTPReqDuration, []string{"name", "http://****:****7%26x%22w%2Br%25z@127.0.0.1/"}},
		{k.builtin.HTTPReqDuration, []string{"name", "checkout-2026", "scenario", "payment-flow"}},
		{k.builtin.Checks, []string{"check", `it is {"dsn":"` + strings.ReplaceAll(dsn, `"`, `\"`) + `"}`}},
		{k.builtin.GroupDuration, []string{"group", dsn}},
		{own, []string{"name", dsn}},
		{&metrics.Metric{Name: metric.ErrorsByClass, Type: metrics.Counter}, []string{"class", long, "scenario", dsn}},
	} {
		tags := k.registry.RootTagSet().With(arrivals.VUTag, "1")
		for i := 0; i < len(s.tags); i += 2 {
			tags = tags.With(s.tags[i], s.tags[i+1])
		}
		a.add([]metrics.SampleContainer{metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: s.of, Tags: tags}, Time: t0, Value: 1}})
	}
	var names []string
	for _, s := range a.index.series {
		names = append(names, s.Key())
	}
	all := strings.Join(names, "\n")
	for _, trace := range []string{"Zq7", "7%26x", "w+r", "spans_checkout"} {
		if strings.Contains(all, trace) {
			t.Errorf("a series has %s:\n%s", trace, all)
		}
	}
	judged := metric.NewSeries(k.builtin.HTTPReqDuration.Name, "ms", "name", "checkout-2026", "scenario", "payment-flow").Key()
	for _, want := range []string{judged, `http\://***@127.0.0.1/`, "***_2026"} {
		if !strings.Contains(all, want) {
			t.Errorf("no series has %s:\n%s", want, all)
		}
	}
}

// Further outputs, which write tags as the script sets them, get them without the secret.
func TestFurtherOutputsHoldNoSecret(t *testing.T) {
	mask.AddDSN(dsn)
	k := newK6Metrics()
	tags := k.registry.RootTagSet().With("name", "pay").With("url", "http://127.0.0.1/?q="+url.QueryEscape(dsn)).With(dsn, "key")
	plain := k.registry.RootTagSet().With("name", "pay")
	request := k.trail(time.Now(), dsn, "1", time.Second, false)
	containers := []metrics.SampleContainer{
		metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: k.builtin.Checks, Tags: tags}, Metadata: map[string]string{"ledger_id": dsn}},
		metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: &metrics.Metric{Name: "Zq7_" + "mask_me", Type: metrics.Gauge}, Tags: plain}},
		metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: k.builtin.Checks, Tags: plain}},
		request,
	}
	mask.Add("mask_me")
	newMasker().mask(containers)
	for _, c := range containers {
		for _, s := range c.GetSamples() {
			text := s.Metric.Name
			for key, value := range s.Tags.Map() {
				text += " " + key + "=" + value
			}
			for key, value := range s.Metadata {
				text += " " + key + "=" + value
			}
			if strings.Contains(text, "Zq7&") || strings.Contains(text, "Zq7%") || strings.Contains(text, "mask_me") {
				t.Error(text)
			}
		}
	}
	if s, same := containers[2].(metrics.Sample); !same || s.Tags != plain {
		t.Errorf("%v was changed", containers[2])
	}
}
