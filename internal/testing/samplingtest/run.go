package samplingtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/polltest"
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

// Await waits until n more samples were sent. Frames are sent at the end of a second, so
// more than ten are needed for one that was taken after the call. Counters are read before
// the first sample.
func (r *Run) Await(t testing.TB, n float64) {
	t.Helper()
	want := r.samples() + n
	polltest.Until(t, fmt.Sprintf("the collector has sent %g samples", want), func() bool { return r.samples() >= want })
}

func (r *Run) samples() float64 { return r.soFar().Total(metric.DBSample) }

// Until waits until what was sent so far meets a condition.
func (r *Run) Until(t testing.TB, condition string, met func(s Result) bool) {
	t.Helper()
	polltest.Until(t, condition, func() bool { return met(r.soFar()) })
}

// soFar is what was sent so far.
func (r *Run) soFar() Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return resultOf(r.frames)
}

// Stop ends the run, which must take less than a minute, and returns its frames.
func (r *Run) Stop(t *testing.T) (Result, error) {
	t.Helper()
	r.cancel()
	select {
	case err := <-r.done:
		return fold(t, r.frames), err
	case <-time.After(time.Minute):
		t.Fatal("the run did not end within a minute")
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
	for i, f := range frames {
		if want := frames[0].Second + int64(i); !f.Closing && f.Second != want {
			t.Errorf("frame %d is of second %d, want %d", i+1, f.Second, want)
		}
	}
	return resultOf(frames)
}

func resultOf(frames []metric.Frame) Result {
	s := Result{Timeline: record.NewTimeline(), Frames: slices.Clone(frames)}
	for _, f := range frames {
		s.Add(f)
	}
	if len(frames) > 0 {
		s.Span = record.Span{From: frames[0].Second, To: frames[len(frames)-1].Second + 1}
	}
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

// CheckAccounted fails the test unless the samples and the recorded gaps between them
// account for the whole time from the first sample to the last, and no sample is too many.
func (s Result) CheckAccounted(t *testing.T) {
	t.Helper()
	samples := s.Counts(metric.DBSample, nil, s.Span)
	sampled := func(n float64) bool { return n > 0 }
	first, last := slices.IndexFunc(samples, sampled), len(samples)-1
	for last > first && !sampled(samples[last]) {
		last--
	}
	apart := float64(last-first) * 1000
	if sum := s.Hist(metric.DBSampleInterval, nil, s.Span).Sum(); sum < apart-1000 {
		t.Errorf("the time between samples is %.0f ms in all; the seconds of the first and the last are %.0f ms apart", sum, apart)
	}
	for i, n := range samples {
		if n > metric.DefaultSampleRate+1 {
			t.Errorf("second %d has %v samples, at %v a second", i, n, metric.DefaultSampleRate)
		}
	}
}

// CheckPace fails the test if most samples are far later than a tenth of a second after the
// one before. A busy machine delays some of them.
func (s Result) CheckPace(t *testing.T) {
	t.Helper()
	if interval, ok := s.Hist(metric.DBSampleInterval, nil, s.Span).Quantile(0.5); !ok || interval > 200 {
		t.Errorf("the median time between samples is %v ms, want about 100", interval)
	}
}

// CheckLittlesLaw fails the test unless the time in statements fits the sampled sessions:
// the time per second is the mean number of active sessions, within 40 %. While the sampler
// stood still, the load may have gone on or not.
func (s Result) CheckLittlesLaw(t *testing.T, took time.Duration) {
	t.Helper()
	sessions, samples := s.Total(metric.DBSession), s.Total(metric.DBSample)
	least, most := sessions/metric.DefaultSampleRate, sessions/samples*took.Seconds()
	if counted := s.Total(metric.DBStatementTime) / 1000; counted < least/1.4 || counted > max(least, most)/0.6 {
		t.Errorf("statements took %.2f s, want %.2f to %.2f: %v sessions in %v samples in %v", counted, least, most, sessions, samples, took)
	}
}

// TopStatement returns the series of the statement that took the most time in all.
func (s Result) TopStatement() (top metric.Series) {
	most := -1.0
	for _, one := range s.Series(metric.DBStatementTime) {
		if took := s.Total(metric.DBStatementTime, "digest", one.Label("digest")); took > most {
			top, most = one, took
		}
	}
	return top
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
