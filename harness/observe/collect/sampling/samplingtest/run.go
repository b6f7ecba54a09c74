package samplingtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"assay/harness/observe/collect"
	"assay/harness/observe/metric"
	"assay/harness/observe/metric/metrictest"
	"assay/harness/observe/record"
)

// Run is a collector's Run in the background, which gathers frames.
type Run struct {
	cancel context.CancelFunc
	done   chan error
	mu     sync.Mutex
	frames []metric.Frame
}

// Start runs a collector whose Start was called.
func Start(t *testing.T, c collect.Collector) *Run {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &Run{cancel: cancel, done: make(chan error, 1)}
	go func() {
		r.done <- c.Run(ctx, func(f metric.Frame) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.frames = append(r.frames, f)
			return nil
		})
	}()
	t.Cleanup(cancel)
	return r
}

// Stop ends the run, which must take less than 4 s, and returns its frames.
func (r *Run) Stop(t *testing.T) (Result, error) {
	t.Helper()
	r.cancel()
	select {
	case err := <-r.done:
		return fold(t, r.frames), err
	case <-time.After(4 * time.Second):
		t.Fatal("the run did not end within 4 s")
		return Result{}, nil
	}
}

// Result holds the frames of a run, also as a timeline.
type Result struct {
	*record.Timeline
	Span   record.Span
	Frames []metric.Frame
}

// fold checks that no second is missing, and adds the frames to a timeline.
func fold(t *testing.T, frames []metric.Frame) Result {
	t.Helper()
	metrictest.CheckStream(t, metric.SourceDatabase, frames)
	s := Result{Timeline: record.NewTimeline(), Frames: frames}
	for i, f := range frames {
		if want := frames[0].Second + int64(i); !f.Closing && f.Second != want {
			t.Errorf("frame %d is of second %d, want %d", i+1, f.Second, want)
		}
		s.Add(f)
	}
	s.Span = record.Span{From: frames[0].Second, To: frames[len(frames)-1].Second + 1}
	return s
}

// Total returns the sum of the series with these labels.
func (s Result) Total(name string, labels ...string) float64 {
	total, _ := s.Sum(name, metric.NewSeries(name, "", labels...).Labels, s.Span)
	return total
}

// Share returns the share of the active sessions that was in one of these classes.
func (s Result) Share(classes ...string) float64 {
	part := 0.0
	for _, c := range classes {
		part += s.Total(metric.DBSession, "class", c)
	}
	return part / s.Total(metric.DBSession)
}

// LongestGap returns the longest time between samples, in ms.
func (s Result) LongestGap() float64 {
	gap, _ := s.Hist(metric.DBSampleInterval, nil, s.Span).Max()
	return gap
}

// Describe lists the totals of all series, for the message of a failed test.
func (s Result) Describe() (text string) {
	totals := map[string]float64{}
	for _, f := range s.Frames {
		for _, p := range f.Points {
			if p.Kind == metric.Counter && p.Series.Name != metric.DBCounter {
				totals[p.Series.Key()] += p.Value
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(totals)) {
		text += fmt.Sprintf("%10.1f %s\n", totals[key], key)
	}
	return text
}
