package record

import (
	"math/rand/v2"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
)

func numbered(sequence uint64, second int64, value float64) metric.Frame {
	return metric.Frame{
		Source: "worker/0", Sequence: sequence, Second: second,
		Points: []metric.Point{metric.CounterPoint(metric.NewSeries("n", ""), value)},
	}
}

func TestTimelineIgnoresResendsAndCountsMissing(t *testing.T) {
	frames := []metric.Frame{
		numbered(1, 10, 1), numbered(2, 11, 2), numbered(2, 11, 2), numbered(4, 11, 8),
		{Source: "worker/0", Sequence: 5, Closing: true, Points: []metric.Point{metric.CounterPoint(metric.NewSeries("total", ""), 1)}},
		{Source: "worker/0", Sequence: 6, Closing: true},
	}
	for range 20 {
		rand.Shuffle(len(frames), func(i, j int) { frames[i], frames[j] = frames[j], frames[i] })
		tl := NewTimeline()
		for _, f := range frames {
			tl.Add(f)
		}
		if sum, _ := tl.Sum("n", nil, All); sum != 11 {
			t.Errorf("sum is %g, want 11", sum)
		}
		s := tl.Sources()[0]
		if s.Frames != 3 || s.Highest != 6 || s.Missing != 1 || !s.Closed || len(s.Totals) != 0 {
			t.Errorf("source is %+v", s)
		}
	}
}

func TestTimelineReadsSpansOfAnyLength(t *testing.T) {
	tl := NewTimeline()
	tl.Add(numbered(1, 0, 1)) // a sender whose clock is at the epoch
	tl.Add(numbered(2, 2_000_000_000, 2))
	if got := tl.BySecond("n", nil); len(got) != 2 || got[0] != 1 || got[2_000_000_000] != 2 {
		t.Errorf("by second: %v", got)
	}
	span := SpanOf(time.Unix(1_999_999_990, 0), plan.Window{Start: 5 * time.Second, End: 15 * time.Second})
	if sum, found := tl.Sum("n", nil, span); sum != 2 || !found {
		t.Errorf("sum in %v is %g, %t", span, sum, found)
	}
	if sum, found := tl.Sum("n", nil, Span{From: 1, To: 2_000_000_000}); sum != 0 || found {
		t.Errorf("sum of an empty span is %g, %t", sum, found)
	}
}
