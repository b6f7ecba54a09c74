package sampling_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// faulty is a database that loses its connection during one sample and refuses some
// attempts to reconnect.
type faulty struct {
	connected bool
	loseAt    int // sample
	refuse    int // number of connections still to refuse
	samples   int

	slowAt     int // sample
	slow       time.Duration
	unreadable bool
}

func (f *faulty) Connected() bool { return f.connected }

func (f *faulty) Connect(context.Context) error {
	if f.refuse > 0 {
		f.refuse--
		return fmt.Errorf("refused, %d more", f.refuse)
	}
	f.connected = true
	return nil
}

func (f *faulty) Sample(context.Context) ([]sampling.Session, error) {
	f.samples++
	if f.samples == f.slowAt {
		time.Sleep(f.slow)
	}
	if f.samples == f.loseAt {
		f.connected = false
		return nil, errors.New("lost")
	}
	return []sampling.Session{{Event: "a", Class: "x"}, {Event: "a", Class: "x"}, {Event: "b", Class: "y", Inferred: true}}, nil
}

func (f *faulty) Read(context.Context) ([]metric.Point, error) {
	if f.unreadable {
		return nil, errors.New("not now")
	}
	return []metric.Point{metric.CounterPoint(metric.NewSeries(metric.DBCounter, "", "name", "reads"), 1)}, nil
}

// run runs in a bubble, whose clock starts at a whole second.
func run(t *testing.T, db sampling.Database, d time.Duration) (frames []metric.Frame, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		err = sampling.Run(ctx, db, func(f metric.Frame) error { frames = append(frames, f); return nil })
	})
	return frames, err
}

func total(frames []metric.Frame, name string, labels ...string) float64 {
	timeline := record.NewTimeline()
	for _, f := range frames {
		timeline.Add(f)
	}
	n, _ := timeline.Sum(name, metric.NewSeries(name, "", labels...).Labels, record.Span{From: 0, To: frames[len(frames)-1].Second + 1})
	return n
}

// Sessions are counted once per sample, and the gap after a lost connection is recorded.
func TestRun(t *testing.T) {
	db := &faulty{connected: true, loseAt: 6, refuse: 2}
	frames, err := run(t, db, 3020*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	// One sample of 30 fails, and seven are due without a connection: the one after the loss finds
	// the first refusal, and those 300 and 600 ms later find the second one and the new
	// connection.
	const good = 22
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{metric.DBSample, nil, good},
		{metric.DBSession, []string{"event", "a", "class", "x", "inferred", ""}, 2 * good},
		{metric.DBSession, []string{"event", "b", "class", "y", "inferred", "true"}, good},
		{metric.DBCounter, []string{"name", "reads"}, 3}, // after 2 s, after 3 s and at the end
	} {
		if got := total(frames, c.name, c.labels...); got != c.want {
			t.Errorf("%s%v is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	longest := 0.0
	for _, f := range frames {
		for _, p := range f.Points {
			if p.Series.Name == metric.DBSampleInterval {
				gap, _ := p.Hist.Max()
				longest = max(longest, gap)
			}
		}
	}
	if longest != 900 { // from the last good sample before the loss
		t.Errorf("the longest gap is %v ms, want 900", longest)
	}
}

// While the connection is lost, only the begin and the end of the outage are told, whatever its
// errors; with a connection, each error that differs from the one before is told.
func TestWarnings(t *testing.T) {
	var told bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&told, nil)))
	defer slog.SetDefault(before)
	if _, err := run(t, &faulty{connected: true, unreadable: true, loseAt: 25, refuse: 9}, 8*time.Second); err != nil {
		t.Fatal(err)
	}
	want := []string{`database collector" err="not now"`, `lost its connection" err=lost`, `is connected again" after=2.8s`, `database collector" err="not now"`}
	got := strings.Split(strings.TrimSpace(told.String()), "\n")
	if !slices.EqualFunc(got, want, strings.Contains) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRunNeverConnected(t *testing.T) {
	frames, err := run(t, &faulty{refuse: 1000}, 1500*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "not connected") {
		t.Errorf("error %v", err)
	}
	if n := total(frames, metric.DBSample); n != 0 || !frames[len(frames)-1].Closing {
		t.Errorf("%v samples, frames %v", n, frames)
	}
}

// A sample that takes seconds delays the frames of these seconds, and loses none: the last
// of them has the increases.
func TestSlowSample(t *testing.T) {
	for name, c := range map[string]struct {
		at    int // sample
		takes time.Duration
		reads float64
	}{
		"in the run":       {5, 2500 * time.Millisecond, 4}, // after 2.9 s, 3 s, 4 s and at the end
		"at the run's end": {40, 2 * time.Second, 5},
	} {
		frames, err := run(t, &faulty{connected: true, slowAt: c.at, slow: c.takes}, 4020*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range frames {
			if want := frames[0].Second + int64(i); f.Second != want && !f.Closing {
				t.Errorf("%s: frame %d is of second %d, want %d", name, i, f.Second, want)
			}
		}
		if got := total(frames, metric.DBCounter, "name", "reads"); got != c.reads {
			t.Errorf("%s: %v readings, want %v", name, got, c.reads)
		}
	}
}

// An error of reading counters costs what could not be read, not the samples.
func TestCountersThatCannotBeRead(t *testing.T) {
	frames, err := run(t, &faulty{connected: true, unreadable: true}, 3020*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if samples, reads := total(frames, metric.DBSample), total(frames, metric.DBCounter, "name", "reads"); samples < 30 || reads != 0 {
		t.Errorf("%v samples, %v readings", samples, reads)
	}
}
