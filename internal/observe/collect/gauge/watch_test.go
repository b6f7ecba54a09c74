//go:build live

package gauge_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"assay.dev/assay/internal/observe/collect/gauge"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/testing/polltest"
)

// watched is what a collector has sent so far.
type watched struct {
	mu     sync.Mutex
	frames []metric.Frame
}

// watch collects while during runs.
func watch(t *testing.T, o gauge.Options, during func(w *watched)) {
	t.Helper()
	c := gauge.New(o)[0]
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := &watched{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- c.Run(ctx, func(f metric.Frame) error {
			metrictest.Check(t, f)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.frames = append(w.frames, f)
			return nil
		})
	}()
	during(w)
	cancel()
	if err := errors.Join(<-ended, c.Close()); err != nil {
		t.Error(err)
	}
}

// readings lists the value of a gauge in each second; NaN: it has none. Gauges of conditions
// are told apart by the condition's name.
func (w *watched) readings(name, condition string) (all []float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.frames {
		v := math.NaN()
		for _, p := range f.Points {
			if p.Series.Name == name && p.Series.Label(metric.LabelCondition) == condition {
				v = p.Value
			}
		}
		all = append(all, v)
	}
	return all
}

// values are the readings of the seconds that have one.
func (w *watched) values(name string) []float64 {
	return slices.DeleteFunc(w.readings(name, ""), math.IsNaN)
}

// await waits for a reading, of a second that ends from now on, that meets a condition, and
// returns it.
func (w *watched) await(t *testing.T, what, name string, meets func(v float64) bool) (v float64) {
	t.Helper()
	from := len(w.readings(name, ""))
	polltest.Until(t, what, func() bool {
		now := w.readings(name, "")[from:]
		i := slices.IndexFunc(now, meets)
		if i >= 0 {
			v = now[i]
		}
		return i >= 0
	})
	return v
}

// awaitNone waits for three seconds in a row without a reading: a frame that was late may
// have the last one.
func (w *watched) awaitNone(t *testing.T, what, name string) {
	t.Helper()
	const seconds = 3
	from := len(w.readings(name, ""))
	polltest.Until(t, what, func() bool {
		now := w.readings(name, "")
		return len(now) >= from+seconds && !slices.ContainsFunc(now[len(now)-seconds:], func(v float64) bool { return !math.IsNaN(v) })
	})
}

func is(want float64) func(float64) bool       { return func(v float64) bool { return v == want } }
func below(limit float64) func(float64) bool   { return func(v float64) bool { return v < limit } }
func atLeast(least float64) func(float64) bool { return func(v float64) bool { return v >= least } }
