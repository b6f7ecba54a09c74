package k6

import (
	"testing"
	"time"

	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/spec"
)

// A request in a redirect loop has failed, although k6 counts it as a success; one
// whose redirects end in a response has not.
func TestRedirectLoopsFail(t *testing.T) {
	k := newK6Metrics()
	answer := func(status string) *httpext.Trail {
		tags := metrics.TagsAndMeta{Tags: k.registry.RootTagSet().With(arrivals.VUTag, "1").With("status", status)}
		trail := &httpext.Trail{EndTime: time.Unix(100, 0)}
		trail.SaveSamples(k.builtin, &tags)
		return trail
	}
	for _, c := range []struct {
		name    string
		answers [][]string // statuses of the answers, by transaction
		own     bool       // the script sets maxRedirects
		failed  float64
	}{
		{"ten redirects, then a response", [][]string{{"302", "302", "302", "302", "302", "302", "302", "302", "302", "302", "200"}}, false, 0},
		{"eleven redirects", [][]string{{"301", "302", "303", "307", "308", "302", "302", "302", "302", "302", "302"}}, false, 1},
		{"one each in many transactions", [][]string{{"302"}, {"302"}, {"302"}, {"302"}, {"302"}, {"302"}, {"302"}, {"302"}, {"302"}, {"302"}, {"302"}, {"302"}}, false, 0},
		{"as many, with responses between", [][]string{{"302", "302", "302", "302", "302", "302", "200", "302", "302", "302", "302", "302", "302"}}, false, 0},
		{"304 is a response", [][]string{{"304", "304", "304", "304", "304", "304", "304", "304", "304", "304", "304", "304"}}, false, 0},
		{"the script sets its own limit", [][]string{{"302", "302", "302", "302", "302", "302", "302", "302", "302", "302", "302", "302"}}, true, 0},
	} {
		a := newAggregate(Session{Run: "r", Flows: []Flow{{Scenario: "s", SLOs: []spec.SLO{}}}})
		a.redirects = c.own
		a.start(time.Unix(100, 0), time.Unix(100, 0))
		for _, answers := range c.answers {
			a.add([]metrics.SampleContainer{&arrivals.TransactionStart{Scenario: "s", VU: "1"}})
			for _, status := range answers {
				a.add([]metrics.SampleContainer{answer(status)})
			}
			a.add([]metrics.SampleContainer{&arrivals.Transaction{Scenario: "s", VU: "1"}})
		}
		failed := 0.0
		for _, points := range pointsOf(a) {
			for key, n := range points {
				if key == a.index.series[a.named(a.flows["s"], "").outcomes[arrivals.Failed]].Key() {
					failed += n
				}
			}
		}
		if failed != c.failed {
			t.Errorf("%s: %v failed, want %v", c.name, failed, c.failed)
		}
	}
}
