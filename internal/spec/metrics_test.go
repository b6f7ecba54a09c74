package spec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

func TestCheckMetrics(t *testing.T) {
	good := string(read(t, "testdata/good/full.json"))
	custom := map[string]string{"gateway_bytes": "trend", "gateway_errors": "rate", "gateway_calls": "counter"}
	for _, c := range []struct {
		name, before, after string
		registered          map[string]string
		want                string
	}{
		{name: "registered", registered: custom},
		{
			name: "not registered", registered: map[string]string{"gateway_byte": "trend"},
			want: `t.json:26: profiles.payment.slo: unknown metric "gateway_bytes": did you mean "gateway_byte"?`,
		},
		{
			name: "typo in k6's", before: `"http_req_failed": ["rate`, after: `"http_req_faield": ["rate`, registered: custom,
			want: `t.json:24: profiles.payment.slo: unknown metric "http_req_faield": did you mean "http_req_failed"?`,
		},
		{
			name: "typo in ours", before: `"transaction_duration"`, after: `"transacton_duration"`, registered: custom,
			want: `t.json:21: profiles.payment.slo: unknown metric "transacton_duration": did you mean "transaction_duration"?`,
		},
		{
			name: "nothing near", before: `"checks"`, after: `"zebra"`, registered: custom,
			want: `t.json:25: profiles.payment.slo: unknown metric "zebra"`,
		},
		{
			name: "other type", registered: map[string]string{"gateway_bytes": "rate"},
			want: `t.json:26: profiles.payment.slo.gateway_bytes: gateway_bytes is a rate: use rate<0.01`,
		},
		{
			name: "counter", registered: map[string]string{"gateway_bytes": "counter"},
			want: `t.json:26: profiles.payment.slo.gateway_bytes: gateway_bytes is a counter: SLOs apply to trends and rates (throughput is always judged)`,
		},
		{
			name: "a name of ours taken", registered: map[string]string{"gateway_bytes": "trend", "transaction_duration": "trend"},
			want: `profiles.payment.scenario: the script registers "transaction_duration", which is a metric of Assay`,
		},
		{
			name: "a name of k6 taken", registered: map[string]string{"gateway_bytes": "trend", "http_reqs": "gauge"},
			want: `profiles.payment.scenario: the script registers "http_reqs" as a gauge, but in k6 it is a counter`,
		},
		{
			name: "abort on custom", before: `"http_req_failed": "rate>0.5`, after: `"gateway_errors": "rate>0.5`, registered: custom,
		},
		{
			name: "abort on unknown", before: `"http_req_failed": "rate>0.5`, after: `"gateway_error": "rate>0.5`, registered: custom,
			want: `t.json:35: profiles.payment.abort: unknown metric "gateway_error": did you mean "gateway_errors"?`,
		},
		{
			name: "abort on counter", before: `"http_req_failed": "rate>0.5`, after: `"gateway_calls": "rate>0.5`, registered: custom,
			want: `t.json:35: profiles.payment.abort: gateway_calls is a counter: an abort takes a rate`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.before != "" && strings.Count(good, c.before) != 1 {
				t.Fatalf("%q occurs %d times", c.before, strings.Count(good, c.before))
			}
			text := good
			if c.before != "" {
				text = strings.Replace(good, c.before, c.after, 1)
			}
			f, err := spec.Decode("t.json", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			err = f.Profiles["payment"].CheckMetrics(c.registered)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var bad *spec.Error
			if !errors.As(err, &bad) || bad.Error() != c.want {
				t.Errorf("error  %v\nwanted %s", err, c.want)
			}
		})
	}
}

// All mismatches with the script's metrics are reported at once: name conflicts of
// the script first, then in the order of the file, each metric once.
func TestCheckMetricsReportsAll(t *testing.T) {
	f, err := spec.Decode("t.json", []byte(`{"version": 1, "profiles": {"p": {
 "scenario": "s.js", "load": {"target": 1},
 "slo": {"zebra": ["p(95)<1", "max<2"], "http_req_duratoin{name:a}": ["max<3"], "calls": ["rate<0.1", "rate<0.2"],
  "bytes": ["rate<0.3", "p(95)<4"], "checks": ["rate>0.5"]},
 "abort": {"bytes": "rate>0.5 for 10s"}
}}}`))
	if err != nil {
		t.Fatal(err)
	}
	err = f.Profiles["p"].CheckMetrics(map[string]string{"calls": "counter", "bytes": "trend", "vus": "rate", "checks": "trend"})
	var all spec.Errors
	if !errors.As(err, &all) {
		t.Fatalf("error %v", err)
	}
	var got []string
	for _, e := range all {
		got = append(got, e.Error())
	}
	want := []string{
		`profiles.p.scenario: the script registers "checks" as a trend, but in k6 it is a rate`,
		`profiles.p.scenario: the script registers "vus" as a rate, but in k6 it is a gauge`,
		`t.json:3: profiles.p.slo: unknown metric "zebra"`,
		`t.json:3: profiles.p.slo: unknown metric "http_req_duratoin": did you mean "http_req_duration"?`,
		`t.json:3: profiles.p.slo.calls: calls is a counter: SLOs apply to trends and rates (throughput is always judged)`,
		`t.json:4: profiles.p.slo.bytes: bytes is a trend: use p(95)<250 or max<1000`,
		`t.json:5: profiles.p.abort: bytes is a trend: an abort takes a rate`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// An SLO has the basis that the file gives it, and is the same SLO without.
func TestBasis(t *testing.T) {
	p := decode(t, "testdata/good/short.json").Profiles["longer"]
	got := map[string]spec.Basis{}
	for _, s := range p.Flows[0].SLOs {
		got[s.ID()] = s.Basis
	}
	want := map[string]spec.Basis{
		"transaction_duration:p(95)<250": "", "transaction_duration:p(99.9)<1500": spec.Counted,
		"transaction_duration:max<9000": spec.Counted, "http_req_failed:rate<0.01": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLatency(t *testing.T) {
	p := decode(t, "testdata/good/full.json").Profiles["payment"]
	for _, s := range p.Flows[0].SLOs {
		want := s.Quantile > 0 && (strings.HasPrefix(s.Metric, "http_req_") || s.Metric == "transaction_duration")
		if s.Latency() != want {
			t.Errorf("%s: latency %v", s.ID(), s.Latency())
		}
	}
}

// TestIDsAreUnique: violations are counted under the SLO's text, so that it is
// the same for the same SLOs and for no others.
func TestIDsAreUnique(t *testing.T) {
	word := rapid.OneOf(rapid.SampledFrom([]string{"a", "a:b", "a,b:c", `a\`, "a{b:c}", "b:c}"}), rapid.String())
	slo := rapid.Custom(func(t *rapid.T) spec.SLO {
		labels := rapid.SliceOfNDistinct(word, 0, 3, rapid.ID).Draw(t, "keys")
		s := spec.SLO{
			Metric:     rapid.StringMatching(`[a-c_]{2,3}`).Draw(t, "metric"),
			Expression: rapid.SampledFrom([]string{"p(95)<250", "p(9)<5", "p(9)<50", "max<250", "rate<0.01"}).Draw(t, "expression"),
		}
		for _, key := range labels {
			s.Selector = append(s.Selector, metric.Label{Key: key, Value: word.Draw(t, "value")})
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := slo.Draw(t, "a"), slo.Draw(t, "b")
		if same := cmp.Equal(a, b, cmpopts.EquateEmpty()); same != (a.ID() == b.ID()) {
			t.Fatalf("%q and %q, same: %v", a.ID(), b.ID(), same)
		}
	})
}
