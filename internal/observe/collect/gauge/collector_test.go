package gauge

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"assay.dev/assay/internal/observe/metric"
)

// scripted is a gauge whose readings are functions of the time since its start.
type scripted struct {
	start time.Time
	value func(since time.Duration) (float64, error)
	reads int
}

func (s *scripted) open(context.Context) error { s.start = time.Now(); return nil }
func (s *scripted) close()                     {}
func (s *scripted) read(context.Context) (float64, error) {
	s.reads++
	return s.value(time.Since(s.start))
}

// A second has the largest of its readings, and no value if all of them failed or were
// invalid.
func TestLargestReadingOfEachSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &scripted{value: func(since time.Duration) (float64, error) {
			tenths := float64(since / (100 * time.Millisecond))
			switch second := int(since / time.Second); second {
			case 1:
				return 0, errors.New("timed out")
			case 2:
				return []float64{math.NaN(), -1, math.Inf(1)}[int(tenths)%3], nil
			case 3: // falls
				return 100 - tenths, nil
			}
			return tenths, nil
		}}
		c := &Collector{source: metric.SourceGauges, gauges: []*polledGauge{{
			reader: r, series: metric.Of("queue_depth"), name: "queue_depth", period: 250 * time.Millisecond,
		}}}
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Frames are sent at whole seconds, so that no reading is made at the same time.
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second-10*time.Millisecond)
		defer cancel()
		time.Sleep(10 * time.Millisecond)
		var got []float64 // -1: no value
		err := c.Run(ctx, func(f metric.Frame) error {
			switch {
			case f.Closing:
			case len(f.Points) == 0:
				got = append(got, -1)
			default:
				got = append(got, f.Points[0].Value)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := []float64{7, -1, -1, 70, 47}; !slices.Equal(got, want) {
			t.Errorf("largest readings %v, want %v", got, want)
		}
		if r.reads != 1+5*4 {
			t.Errorf("%d readings, want one at the start and four per second", r.reads)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A gauge whose first readings time out is read later; one that fails otherwise ends the
// start. The check before a run reports both.
func TestFirstReadings(t *testing.T) {
	t.Parallel()
	broken := errors.New("no such metric")
	for name, c := range map[string]struct {
		read  func(n int) error
		start error // error at the start of a run
		check error // error of the check before a run
		reads int
	}{
		"answers":        {func(int) error { return nil }, nil, nil, 1},
		"late once":      {func(n int) error { return map[int]error{1: context.DeadlineExceeded}[n] }, nil, nil, 2},
		"late each time": {func(int) error { return context.DeadlineExceeded }, nil, context.DeadlineExceeded, 3},
		"broken":         {func(int) error { return broken }, broken, broken, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &scripted{}
			r.value = func(time.Duration) (float64, error) { return 1, c.read(r.reads) }
			g := &polledGauge{reader: r, name: name}
			collector := &Collector{gauges: []*polledGauge{g}}
			if err := collector.Start(t.Context()); !errors.Is(err, c.start) || r.reads != c.reads {
				t.Errorf("start: %v after %d readings, want %v after %d", err, r.reads, c.start, c.reads)
			}
			if late := c.check != nil && c.start == nil; g.failing != late || len(collector.points()) != 0 {
				t.Errorf("failing: %t, want %t", g.failing, late)
			}
			r.reads = 0
			if _, err := g.start(t.Context()); !errors.Is(err, c.check) {
				t.Errorf("check: %v, want %v", err, c.check)
			}
		})
	}
}
