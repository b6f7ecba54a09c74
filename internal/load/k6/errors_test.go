package k6

import (
	"testing"
	"time"

	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"
	"gopkg.in/guregu/null.v3"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/sql"
	"assay.dev/assay/internal/observe/metric"
)

func TestRequestClass(t *testing.T) {
	for _, c := range []struct {
		code         int
		text, status string
		want         string
	}{
		{1212, "dial: connection refused", "0", "connection refused"},
		{1220, "read: connection reset by peer", "0", "connection reset"},
		{1201, "write: broken pipe", "0", "connection reset"},
		{1050, "request timeout", "0", "timeout"},
		{1211, "dial: i/o timeout", "0", "connect timeout"},
		{1213, "dial: unknown errno 24 error with msg `too many open files`", "0", "too many open files"},
		{1213, "dial: unknown errno 99 error with msg `cannot assign requested address`", "0", "no free local port"},
		{1213, "dial: unknown errno 113 error with msg `no route to host`", "0", "unreachable"},
		{1101, "lookup: no such host", "0", "DNS"},
		{1100, "lookup a: i/o timeout", "0", "DNS"},
		{1310, "x509: unknown authority", "0", "TLS"},
		{1000, "EOF", "0", "connection closed"},
		{1000, "unexpected EOF", "0", "connection closed"},
		{1000, "http: server closed idle connection", "0", "connection closed"},
		{1631, "http2: stream error", "0", "HTTP/2"},
		{1503, "", "503", "HTTP 503"},
		{1404, "", "404", "HTTP 404"},
		{0, "", "200", "HTTP 200"}, // unexpected by the script
		{1000, "something new", "0", "other"},
		{0, "", "", "other"},
	} {
		if got := requestClass(c.code, c.text, c.status); got != c.want {
			t.Errorf("%d %q %s: %q, want %q", c.code, c.text, c.status, got, c.want)
		}
	}
}

// failing is a request that failed, with the tags that k6 sets for it.
func (k k6Metrics) failing(at time.Time, vu string, tags ...string) *httpext.Trail {
	set := k.registry.RootTagSet().With(arrivals.VUTag, vu).With("scenario", "payment")
	for i := 0; i < len(tags); i += 2 {
		set = set.With(tags[i], tags[i+1])
	}
	tr := &httpext.Trail{EndTime: at}
	tr.SaveSamples(k.builtin, &metrics.TagsAndMeta{Tags: set})
	tr.Failed = null.BoolFrom(true)
	return tr
}

// Each error has one class: a request's, one that the script names, or that of its
// transaction, in the second in which the transaction was scheduled.
func TestErrorsHaveOneClass(t *testing.T) {
	k := newK6Metrics()
	a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "payment", SLOs: paySLOs()}}})
	t0 := time.Now().Truncate(time.Second)
	a.start(t0, t0)
	named, err := k.registry.NewMetric(metric.ErrorsByClass, metrics.Counter)
	if err != nil {
		t.Fatal(err)
	}
	bySQL, err := k.registry.NewMetric(sql.ErrorsMetric, metrics.Counter)
	if err != nil {
		t.Fatal(err)
	}
	late := t0.Add(5 * time.Second)
	script := metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: named, Tags: k.registry.RootTagSet().With(arrivals.VUTag, "1").With("scenario", "payment").With("class", "deadlock")},
		Time:       late, Value: 1,
	}
	statement := script
	statement.Metric, statement.Tags = bySQL, k.registry.RootTagSet().With(arrivals.VUTag, "1").With("scenario", "payment").With("class", "duplicate key").With("code", "1062")
	begin := &arrivals.TransactionStart{Scenario: "payment", VU: "1"}
	end := func(o arrivals.Outcome) *arrivals.Transaction {
		return &arrivals.Transaction{Scenario: "payment", VU: "1", Outcome: o, Latency: time.Second}
	}
	a.add([]metrics.SampleContainer{
		begin, k.failing(late, "1", "error_code", "1212", "error", "dial: connection refused", "status", "0"), end(arrivals.Failed),
		begin, k.failing(late, "1", "error_code", "1503", "status", "503"), k.failing(late, "1", "error_code", "1503", "status", "503"), end(arrivals.Completed),
		begin, script, end(arrivals.Failed),
		begin, statement, end(arrivals.Failed),
		begin, statement, statement, end(arrivals.Completed), // sent again
		begin, end(arrivals.Failed), // threw without a failed request
		begin, end(arrivals.TimedOut),
		begin, end(arrivals.Completed),
		&arrivals.Transaction{Scenario: "payment", Outcome: arrivals.Dropped},
	})
	got := pointsOf(a)
	want := map[string]float64{}
	for class, n := range map[[2]string]float64{
		{"client", "connection refused"}: 1, {"client", "HTTP 503"}: 2, {"script", "deadlock"}: 1, {"script", "duplicate key"}: 3,
		{"client", "script error"}: 1, {"client", "transaction timeout"}: 1, {"client", "transaction not started"}: 1,
	} {
		want[metric.Of(metric.ErrorsByClass, "where", class[0], "class", class[1], "scenario", "payment").Key()] = n
	}
	for second, points := range got {
		for key, n := range points {
			s := key[:min(len(key), len(metric.ErrorsByClass))]
			if s != metric.ErrorsByClass {
				continue
			}
			if want[key] != n || second != t0.Unix() {
				t.Errorf("second %d: %s is %g, want %g in %d", second, key, n, want[key], t0.Unix())
			}
			delete(want, key)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// A script cannot name more classes than a frame may hold.
func TestScriptClassesAreBounded(t *testing.T) {
	c := newSeriesIndex(Session{VUs: 1})
	k := newK6Metrics()
	for i := range 2 * metric.MaxSeries {
		c.scriptClass(&tagSet{tags: k.registry.RootTagSet().With(classTag, string(rune('a'+i%26))+time.Duration(i).String())})
	}
	if n := len(c.series); n > metric.MaxSeries+1 {
		t.Errorf("%d series", n)
	}
}
