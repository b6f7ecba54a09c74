package spec_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// A gauge is judged second by second and read where the profile says; workers do not
// count its violations.
func TestGauges(t *testing.T) {
	f := decode(t, "testdata/good/gauges.json")
	for profile, want := range map[string]spec.Gauge{
		"queue":      {Metric: "ingest_queue_length", URL: "http://127.0.0.1:9404/metrics"},
		"labels":     {Metric: `jobs{state="ready", queue="a \"b\", c"}`},
		"not-judged": {Metric: "jobs{}"},
	} {
		if diff := cmp.Diff(map[string]spec.Gauge{"queue_depth": want}, f.Profiles[profile].Gauges); diff != "" {
			t.Error(diff)
		}
	}
	p := f.Profiles["queue"]
	for _, s := range p.Flows[0].SLOs {
		if judged := s.Metric == "queue_depth"; (s.Kind() == spec.KindGauge) != judged || (s.Kind() == spec.KindSamples) == judged || judged && s.Latency() {
			t.Errorf("%s: decided by %s", s.ID(), s.Kind())
		}
	}
	if err := p.CheckMetrics(nil); err != nil {
		t.Error(err)
	}
	var taken *spec.Error
	if err := p.CheckMetrics(map[string]string{"queue_depth": "trend"}); !errors.As(err, &taken) || !strings.Contains(taken.Problem, "which is a metric of Assay") {
		t.Errorf("%v", err)
	}
	data, err := json.Marshal(p)
	var read spec.Profile
	if err == nil {
		err = json.Unmarshal(data, &read)
	}
	if diff := cmp.Diff(p, read); err != nil || diff != "" {
		t.Errorf("differs when read back from JSON: %v\n%s", err, diff)
	}
}

func TestSelector(t *testing.T) {
	label := func(key, value string) metric.Label { return metric.Label{Key: key, Value: value} }
	for text, want := range map[string]struct {
		name   string
		labels []metric.Label
	}{
		"queue":                            {"queue", nil},
		" queue ":                          {"queue", nil},
		"a:b{}":                            {"a:b", nil},
		`queue{a="b"}`:                     {"queue", []metric.Label{label("a", "b")}},
		`queue { a = "b" , c="d", }`:       {"queue", []metric.Label{label("a", "b"), label("c", "d")}},
		`queue{a="}, \"x\" \\ \n"}`:        {"queue", []metric.Label{label("a", "}, \"x\" \\ \n")}},
		`queue{a="` + "\u00e4" + `",b=""}`: {"queue", []metric.Label{label("a", "\u00e4"), label("b", "")}},
		"0queue":                           {},
		"queue}":                           {},
		"queue{":                           {},
		`queue{a="b"`:                      {},
		`queue{a="b" c="d"}`:               {},
		`queue{,}`:                         {},
		`queue{a='b'}`:                     {},
		`queue{a!="b"}`:                    {},
		`queue{a="\q"}`:                    {},
		`queue{"a"="b"}`:                   {},
		"":                                 {},
		strings.Repeat("q", 3) + `{a="b"}{c="d"}`: {},
	} {
		name, labels, ok := spec.Gauge{Metric: text}.Selector()
		if ok != (want.name != "") || ok && (name != want.name || !cmp.Equal(labels, want.labels)) {
			t.Errorf("%q: %q, %q, %v", text, name, labels, ok)
		}
	}
	rapid.Check(t, func(t *rapid.T) { // it terminates, and every name it finds is valid
		text := rapid.StringOf(rapid.SampledFrom([]rune(`ab_:0{}="\, `+"\n"))).Draw(t, "text")
		if name, _, ok := (spec.Gauge{Metric: text}).Selector(); ok && !strings.HasPrefix(strings.TrimSpace(text), name) {
			t.Errorf("%q is of %q", text, name)
		}
	})
}
