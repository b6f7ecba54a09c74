package spec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// Each form of a condition is read, and says what it protects and from where it is read.
func TestAbort(t *testing.T) {
	p := decode(t, "testdata/good/abort.json").Profiles["shared"]
	on := func(name, expression string, limit float64, length time.Duration) spec.Abort {
		return spec.Abort{Metric: name, Expression: expression, Limit: limit, For: length}
	}
	waiting, orders := on("waiting", "max>20 for 8s", 20, 8*time.Second), on("orders-api", "rate>0.05 for 10s", 0.05, 10*time.Second)
	search, mail := on("search", "rate>0.5 for 3s", 0.5, 3*time.Second), on("mail", "rate>0.9 for 4s", 0.9, 4*time.Second)
	waiting.Gauge = &spec.Gauge{Metric: `hikaricp_connections_pending{pool="main"}`, URL: "http://127.0.0.1:8081/metrics"}
	orders.Neighbour = &spec.Neighbour{
		URL: "http://orders.example:9090/metrics", Errors: `http_requests_total{code=~"5..", path!="/metrics"}`, Total: "http_requests_total",
	}
	search.Neighbour = &spec.Neighbour{URL: "http://127.0.0.1:9091/health", Timeout: 500 * time.Millisecond}
	mail.Neighbour = &spec.Neighbour{URL: "http://127.0.0.1:9092/health", Timeout: spec.DefaultHealthTimeout}
	wanted := []struct {
		abort                  spec.Abort
		unit, protects, source string
	}{
		{on("http_req_failed", "rate>0.5 for 10s", 0.5, 10*time.Second), "share", "the target", metric.SourceWorker},
		{on("gateway_errors", "rate>0 for 1m", 0, time.Minute), "share", "the target", metric.SourceWorker},
		{on("db_sessions", "max>200 for 10s", 200, 10*time.Second), "", "the database", metric.SourceDatabase},
		{on("db_deadlocks", "rate>5.5 for 5s", 5.5, 5*time.Second), "1/s", "the database", metric.SourceDatabase},
		{on("replica_lag", "max>5000 for 10s", 5000, 10*time.Second), "ms", "the replicas", metric.SourceLag},
		{on("consumer_lag", "max>100000 for 30s", 100_000, 30*time.Second), "", "the consumer group", metric.SourceLag},
		{on("queue_depth", "max>1000 for 10s", 1000, 10*time.Second), "", "the service", metric.SourceGauges},
		{on("service_pool_wait_time", "rate>5000 for 10s", 5000, 10*time.Second), "ms/s", "the service", metric.SourceService},
		{waiting, "", "what 127.0.0.1:8081 reports", metric.SourceGauges},
		{orders, "share", "the neighbour orders-api", metric.SourceNeighbours},
		{search, "share", "the neighbour search", metric.SourceNeighbours},
		{mail, "share", "the neighbour mail", metric.SourceNeighbours},
	}
	var all []spec.Abort
	for _, w := range wanted {
		all = append(all, w.abort)
		if a := w.abort; a.Unit() != w.unit || a.Protects() != w.protects || a.Source() != w.source || a.OfLoad() != (w.source == metric.SourceWorker) {
			t.Errorf("%s: in %q, protects %q, from %s", a.Metric, a.Unit(), a.Protects(), a.Source())
		}
	}
	if diff := cmp.Diff(all, p.Abort); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]bool{metric.ReplicaLag: true, metric.AbortGauge: true, metric.BinlogReaderLag: false} {
		if p.Aborts(name) != want {
			t.Errorf("aborts on %s: %v", name, !want)
		}
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

// Only a rate of the load can be a script's own; a name that Assay reads elsewhere is taken.
func TestAbortAndMetricsOfTheScript(t *testing.T) {
	p := decode(t, "testdata/good/abort.json").Profiles["shared"]
	for name, c := range map[string]struct {
		registered map[string]string
		want       string
	}{
		"all are known":       {map[string]string{"gateway_errors": "rate"}, ""},
		"of a neighbour":      {map[string]string{"gateway_errors": "rate", "orders-api": "trend"}, ""},
		"not registered":      {nil, `profiles.shared.abort: unknown metric "gateway_errors"`},
		"no rate":             {map[string]string{"gateway_errors": "gauge"}, "gateway_errors is a gauge: an abort takes a rate"},
		"taken":               {map[string]string{"gateway_errors": "rate", "db_sessions": "rate"}, `the script registers "db_sessions", and the profile's abort takes that`},
		"free, as not in use": {map[string]string{"gateway_errors": "rate", "db_connections": "rate"}, ""},
	} {
		err := p.CheckMetrics(c.registered)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	p.Abort = []spec.Abort{{Metric: "db_session", Expression: "rate>0.5 for 3s", Limit: 0.5, For: 3 * time.Second}}
	var typo *spec.Error
	if err := p.CheckMetrics(nil); !errors.As(err, &typo) || !strings.Contains(typo.Problem, `did you mean "db_sessions"?`) {
		t.Errorf("a rate that may have been meant as a metric of the database: %v", err)
	}
}

// The schema agrees with the catalogue about the metrics that conditions name, and so does
// Decode: each takes the catalogue's example, and no other aggregate.
func TestAbortsFollowTheCatalogue(t *testing.T) {
	var schema struct {
		Defs struct {
			Profile struct {
				Properties struct {
					Abort struct {
						Properties map[string]struct {
							Ref string `json:"$ref"`
						}
					}
				}
				AllOf []any
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(spec.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	needs, _ := json.Marshal(schema.Defs.Profile.AllOf)
	got, want := map[string]string{}, map[string]string{}
	for name, p := range schema.Defs.Profile.Properties.Abort.Properties {
		got[name] = p.Ref
	}
	for _, d := range metric.Catalogue(func(d metric.Descriptor) bool { return d.Abort != "" }) {
		other := "rate>0.5 for 3s"
		want[d.Name] = "#/$defs/levelAbort"
		if d.Kind == metric.Counter {
			want[d.Name], other = "#/$defs/numberAbort", "max>5 for 3s"
		}
		profile := func(condition, more string) error {
			_, err := spec.Decode("t.json", fmt.Appendf(nil, `{"version": 1, "profiles": {"p": {"scenario": "a.js", "load": {"target": 1},
				"slo": {"http_req_failed": ["rate<0.01"]}, "abort": {%q: %q}%s}}}`, d.Name, condition, more))
			return err
		}
		if err := profile(d.Abort, needed(t, d)); err != nil {
			t.Errorf("the catalogue's own example: %v", err)
		}
		if err := profile(other, needed(t, d)); err == nil {
			t.Errorf("%s takes %s", d.Name, other)
		}
		if err := profile(d.Abort, ""); d.Key != "" && (err == nil || !strings.Contains(err.Error(), "the profile has no \""+d.Key+"\"")) {
			t.Errorf("%s without %s: %v", d.Name, d.Key, err)
		}
		if d.Key != "" && !strings.Contains(string(needs), fmt.Sprintf(`"abort":{"required":[%q],"type":"object"}`, d.Name)) {
			t.Errorf("the schema does not say that an abort on %s needs %s", d.Name, d.Key)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("abort.properties (-catalogue +schema):\n%s", diff)
	}
}

// A selection selects as PromQL does: the whole value must match, and a label that a series
// lacks is empty.
func TestSelection(t *testing.T) {
	labels := map[string]string{"code": "503", "path": "/pay"}
	for text, want := range map[string]bool{
		"requests": true, "requests{}": true,
		`requests{code="503"}`: true, `requests{code="50"}`: false,
		`requests{code!="200"}`: true, `requests{code!="503"}`: false,
		`requests{code=~"5.."}`: true, `requests{code=~"5."}`: false, `requests{code=~"5..|4.."}`: true,
		`requests{code!~"2.."}`: true, `requests{code!~"5.."}`: false,
		`requests{zone=""}`: true, `requests{zone!="a"}`: true, `requests{zone=~".+"}`: false,
		`requests{code=~"5..", path="/pay"}`: true, `requests{code=~"5..", path!="/pay"}`: false,
	} {
		s, problem := spec.ParseSelection(text)
		if problem != "" || s.Name != "requests" || s.Matches(labels) != want {
			t.Errorf("%s: selected %v, %s", text, s.Matches(labels), problem)
		}
	}
	rapid.Check(t, func(t *rapid.T) { // it terminates, and what it accepts has a valid name
		text := rapid.StringOf(rapid.SampledFrom([]rune(`ab_:0{}=!~"\,.* `+"\n"))).Draw(t, "text")
		if s, problem := spec.ParseSelection(text); problem == "" {
			s.Matches(labels)
			if !strings.HasPrefix(strings.TrimSpace(text), s.Name) || s.Name == "" {
				t.Errorf("%q is of %q", text, s.Name)
			}
		}
	})
}

// The example of docs/abort.md is valid, and has each kind of condition.
func TestAbortDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/abort.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```json\n")
	example, _, _ = strings.Cut(example, "```")
	f, err := spec.Decode("docs/abort.md", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]bool{}
	for _, a := range f.Profiles["payment"].Abort {
		sources[a.Source()] = true
	}
	for _, source := range []string{metric.SourceWorker, metric.SourceDatabase, metric.SourceService, metric.SourceLag, metric.SourceGauges, metric.SourceNeighbours} {
		if !sources[source] {
			t.Errorf("the example has no condition that reads %s", source)
		}
	}
}
