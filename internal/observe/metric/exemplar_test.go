package metric

import (
	"slices"
	"strings"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// An exemplar names its SLOs in their order, however many there are.
func TestExemplarNamesItsSLOs(t *testing.T) {
	want := strings.Split("a b c d e f g h i j k l", " ")
	e := Exemplar{Labels: append(ViolatesLabels(want), Label{ExemplarError, "HTTP 503"})}
	if got := e.Violates(); !slices.Equal(got, want) {
		t.Errorf("violates %q", got)
	}
	if e.Label(ExemplarError) != "HTTP 503" || e.Label(ExemplarSampled) != "" {
		t.Errorf("labels %v", e.Labels)
	}
}

// The exemplars of our own frames are checked and bounded, those of foreign senders are
// not kept.
func TestReceivedExemplars(t *testing.T) {
	export := func(n int, id []byte, foreign bool) []byte {
		p := &metricspb.ExponentialHistogramDataPoint{Count: 1, Scale: Scale, Positive: buckets(0, 1), StartTimeUnixNano: 1e18, TimeUnixNano: 2e18}
		for range n {
			p.Exemplars = append(p.Exemplars, &metricspb.Exemplar{TraceId: id})
		}
		if foreign {
			return exportOf(exponentialOf(p))
		}
		return exportOf(exponentialOf(p), stringAttr(attrSource, "worker/0"))
	}
	id := slices.Repeat([]byte{7}, 16)
	if got, err := Decode(export(maxExemplars, id, false)); err != nil || len(got[0].Points[0].Exemplars) != maxExemplars || got[0].Points[0].Exemplars[9].TraceID != [16]byte(id) {
		t.Errorf("%v", err)
	}
	if _, err := Decode(export(maxExemplars+1, id, false)); err == nil || !strings.Contains(err.Error(), "more than 1000 exemplars") {
		t.Errorf("too many: %v", err)
	}
	if _, err := Decode(export(1, id[:8], false)); err == nil || !strings.Contains(err.Error(), "16 bytes") {
		t.Errorf("a short id: %v", err)
	}
	if e, err := DecodeExport(export(maxExemplars+1, id[:8], true)); err != nil || len(e.points) != 1 || len(e.points[0].point.Exemplars) != 0 {
		t.Errorf("of a foreign sender: %+v, %v", e, err)
	}
}
