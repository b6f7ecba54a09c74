package collect_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/metrictest"
)

func TestSecondsAreConsecutive(t *testing.T) {
	now := time.Now()
	s := collect.NewSeconds(now)
	if got := s.Unix(s.Index(now)); got != now.Unix() {
		t.Errorf("label of now is %d, want %d", got, now.Unix())
	}
	if got := s.Begin(0).Nanosecond(); got != 0 {
		t.Errorf("second 0 begins %d ns after a whole second", got)
	}
	for i := range int64(5) {
		begin := s.Begin(i)
		if got := s.Index(begin); got != i {
			t.Errorf("second %d: its start is in second %d", i, got)
		}
		if got := s.Index(begin.Add(-1)); got != i-1 {
			t.Errorf("second %d: the instant before it is in second %d", i, got)
		}
	}
}

// frames gathers what a stream sends. It fails while fail returns an error.
type frames struct {
	mu   sync.Mutex
	all  []metric.Frame
	fail func() error
}

func (f *frames) sink(frame metric.Frame) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		if err := f.fail(); err != nil {
			return err
		}
	}
	f.all = append(f.all, frame)
	return nil
}

func TestStreamRetriesAndCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := 3
		f := &frames{fail: func() error {
			if broken > 0 {
				broken--
				return errors.New("not now")
			}
			return nil
		}}
		s := collect.NewStream("host", f.sink)
		for i := range int64(5) {
			s.Send(100+i, nil)
		}
		if err := s.Close(105); err != nil {
			t.Fatal(err)
		}
		if len(f.all) != 6 {
			t.Fatalf("%d frames, want 6", len(f.all))
		}
		metrictest.CheckStream(t, "host", f.all)
	})
}

// After one frame was retried for 2 s, each further one is tried once. Frames for which the
// queue has no room meanwhile are dropped.
func TestStreamGivesUpInBoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("disk full")
		f := &frames{fail: func() error { return gone }}
		s := collect.NewStream("host", f.sink)
		begin := time.Now()
		for i := range int64(100) {
			s.Send(i, nil)
			synctest.Wait()
		}
		err := s.Close(100)
		if !errors.Is(err, gone) || !strings.Contains(err.Error(), "39 dropped, the queue was full") {
			t.Errorf("error is %v, want %v, and 39 dropped", err, gone)
		}
		if took := time.Since(begin); took < 2*time.Second || took > 2200*time.Millisecond {
			t.Errorf("close took %v", took)
		}
	})
}

// Every second gets a frame: one that passed during a slow read without points, the last
// one with the increases since its start.
func TestEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond) // a run does not start with a second
		begin := time.Now().Unix()
		ctx, cancel := context.WithTimeout(t.Context(), 4200*time.Millisecond)
		defer cancel()
		var f frames
		reads := 0
		err := collect.EverySecond(ctx, "host", f.sink, func() []metric.Point {
			if reads++; reads == 1 {
				time.Sleep(2100 * time.Millisecond)
			}
			return []metric.Point{metric.GaugePoint(metric.NewSeries("reads", ""), float64(reads))}
		})
		if err != nil {
			t.Fatal(err)
		}
		metrictest.CheckStream(t, "host", f.all)
		var got []string
		for _, frame := range f.all[:len(f.all)-1] {
			text := fmt.Sprint(frame.Second - begin)
			for _, p := range frame.Points {
				text += fmt.Sprint(":", p.Value)
			}
			got = append(got, text)
		}
		if want := []string{"0:1", "1", "2:2", "3:3", "4:4"}; !slices.Equal(got, want) {
			t.Errorf("readings by second %q, want %q", got, want)
		}
	})
}
