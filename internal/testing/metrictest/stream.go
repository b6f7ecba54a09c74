package metrictest

import (
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

// CheckStream fails the test where frames are not the whole stream of a source: numbered
// from 1, and only the last one closing, with the number of the others.
func CheckStream(t testing.TB, source string, frames []metric.Frame) {
	t.Helper()
	if len(frames) == 0 {
		t.Fatalf("no frames of %s", source)
	}
	for i, f := range frames {
		if f.Source != source || f.Sequence != uint64(i+1) || f.Closing != (i == len(frames)-1) {
			t.Errorf("frame %d of %d of %s: source %q, sequence %d, closing %v", i+1, len(frames), source, f.Source, f.Sequence, f.Closing)
		}
	}
	last := frames[len(frames)-1]
	if len(last.Points) != 1 || last.Points[0].Series.Name != metric.WorkerFrames || last.Points[0].Value != float64(len(frames)-1) {
		t.Errorf("the closing frame of %s holds %v, want %s = %d", source, last.Points, metric.WorkerFrames, len(frames)-1)
	}
}

// Hist returns a histogram of these values.
func Hist(values ...float64) *metric.Hist {
	h := &metric.Hist{}
	for _, v := range values {
		h.Record(v, 1)
	}
	return h
}
