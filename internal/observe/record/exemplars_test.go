package record

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/metrictest"
)

// Exemplars are those of all sources within a span, once for each frame, whatever the order
// of arrival.
func TestTimelineKeepsExemplars(t *testing.T) {
	const second = int64(1e9)
	at := func(source string, sequence uint64, nanos ...int64) metric.Frame {
		p := metric.HistPoint(metric.NewSeries("took", "ms", "scenario", "pay"), metrictest.Hist(1))
		for _, n := range nanos {
			p.Exemplars = append(p.Exemplars, metric.Exemplar{TraceID: [16]byte{15: byte(sequence)}, Nanos: n, Value: 1})
		}
		return metric.Frame{Source: source, Sequence: sequence, Second: nanos[0] / second, Points: []metric.Point{p}}
	}
	frames := []metric.Frame{
		at("worker/0", 1, 9*second+999_999_999), at("worker/0", 2, 10*second), at("worker/0", 2, 10*second),
		at("worker/1", 1, 11*second+5, 11*second+4), at("worker/1", 2, 12*second),
	}
	for range 20 {
		rand.Shuffle(len(frames), func(i, j int) { frames[i], frames[j] = frames[j], frames[i] })
		tl := NewTimeline()
		for _, f := range frames {
			tl.Add(f)
		}
		var got []int64
		for _, e := range tl.Exemplars("took", Span{From: 10, To: 12}) {
			got = append(got, e.Nanos)
			if e.Series.Label("scenario") != "pay" {
				t.Errorf("series %+v", e.Series)
			}
		}
		if !slices.Equal(got, []int64{10 * second, 11*second + 4, 11*second + 5}) || len(tl.Exemplars("took", All)) != 5 {
			t.Errorf("exemplars at %v", got)
		}
	}
}

// The JSON line of a point has its exemplars.
func TestExemplarsInLines(t *testing.T) {
	p := metric.HistPoint(metric.NewSeries("took", "ms"), metrictest.Hist(1))
	p.Exemplars = []metric.Exemplar{{TraceID: [16]byte{0xab}, Nanos: 1_500_000_000, Value: 7, Labels: []metric.Label{{Key: "outcome", Value: "failed"}}}}
	dir := t.TempDir()
	w, err := Create(dir, aPlan())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []error{w.Frame(metric.Frame{Source: "worker/0", Sequence: 1, Second: t0 + 1, Points: []metric.Point{p}}), w.Environment(anEnvironment()), w.Seal(someFacts(StateAbsent))} {
		if step != nil {
			t.Fatal(step)
		}
	}
	var out strings.Builder
	if err := WriteLines(&out, dir); err != nil {
		t.Fatal(err)
	}
	const want = `"exemplars":[{"trace_id":"ab000000000000000000000000000000","time":"1970-01-01T00:00:01.5Z","value":7,"labels":{"outcome":"failed"}}]}` + "\n"
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("line %s, want %s", out.String(), want)
	}
}
