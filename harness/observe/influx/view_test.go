package influx

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/harness/hint"
	"assay/harness/observe/influx/influxtest"
	"assay/harness/observe/metric"
)

func serverOf(t *testing.T, db *influxtest.Server) *Server {
	t.Helper()
	s, err := NewServer(db.URL(), db.Token())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// running is about a run whose load began so many seconds ago.
func running(ago int64) (About, int64) {
	a := about()
	a.T0 = time.Now().Truncate(time.Second).Add(-time.Duration(ago) * time.Second)
	return a, a.T0.Unix()
}

// counted waits until InfluxDB has so many points of transactions, of so many
// transactions.
func counted(t *testing.T, db *influxtest.Server, points int, transactions float64) {
	t.Helper()
	var sum float64
	var n int
	for range 200 {
		if sum, n = db.Sum(DefaultDatabase, `SELECT "count" FROM "transaction"`); sum == transactions && n == points {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("InfluxDB has %d points of %g transactions, want %d of %g", n, sum, points, transactions)
}

// A second is written while the run goes on, and again when late completions
// have changed it.
func TestLateCompletions(t *testing.T) {
	db := influxtest.Start(t)
	v := NewView(serverOf(t, db))
	defer v.Close()
	v.Check(t.Context())
	a, start := running(20)
	v.Add(worker(0, 1, start, 10)) // before the writing begins
	v.Begin(a)
	counted(t, db, 1, 10)
	v.Add(worker(0, 2, start+1, 7))
	counted(t, db, 2, 17)
	v.Add(worker(0, 3, start, 5))
	v.Add(worker(1, 1, start+1, 3))
	counted(t, db, 2, 25)
	done := v.Finish(t.Context(), nil)
	if diff := cmp.Diff(Result{Seconds: 2}, done); diff != "" {
		t.Error(diff)
	}
	if trouble, recovered := v.News(); trouble != nil || recovered {
		t.Errorf("news: %v, %t", trouble, recovered)
	}
}

// What memory has no room for, for the server being away or a completion being
// very late, is written from the record at the end.
func TestFinishFromTheRecord(t *testing.T) {
	db := influxtest.Start(t)
	v := NewView(serverOf(t, db))
	v.pending.limit = 3
	a, start := running(60)
	v.Begin(a)
	var frames []metric.Frame
	add := func(f metric.Frame) {
		frames = append(frames, f)
		v.Add(f)
	}
	v.Check(t.Context())
	add(worker(0, 1, start, 10))
	counted(t, db, 1, 10)
	db.Kill()
	for k := range int64(8) {
		add(worker(0, uint64(k+2), start+k+1, 10))
	}
	add(worker(0, 10, start, 4)) // of a second that was written and forgotten
	frames = append(frames, metric.Frame{Source: "worker/0", Sequence: 11, Second: start, Closing: true})
	if n := len(v.pending.kept); n != 3 {
		t.Errorf("%d seconds are in memory, the limit is 3", n)
	}
	v.note(errors.New("away"))
	if trouble, _ := v.News(); trouble == nil {
		t.Error("that the server is away is no news")
	}
	db.Restart()
	visits := 0
	replay := func(visit func(metric.Frame) error) error {
		visits++
		for _, f := range frames {
			if err := visit(f); err != nil {
				return err
			}
		}
		return nil
	}
	if diff := cmp.Diff(Result{Seconds: 9}, v.Finish(t.Context(), replay)); diff != "" {
		t.Error(diff)
	}
	if visits == 0 {
		t.Error("the record was not visited")
	}
	if trouble, recovered := v.News(); trouble != nil || !recovered {
		t.Errorf("news of the server that is back: %v, %t", trouble, recovered)
	}
	counted(t, db, 9, 94)
}

// A record that cannot be read, or a server that refuses, leaves the seconds
// missing, with the reason.
func TestFinishTellsWhatIsMissing(t *testing.T) {
	db := influxtest.Start(t)
	broken := errors.New("the disk is gone")
	v := NewView(serverOf(t, db))
	v.pending.limit = 2
	a, start := running(0) // so that nothing has settled yet
	v.Begin(a)
	for k := range int64(5) {
		v.Add(worker(0, uint64(k+1), start+100+k, 10))
	}
	done := v.Finish(t.Context(), func(func(metric.Frame) error) error { return broken })
	if !errors.Is(done.Err, broken) || done.Seconds != 5 || done.Missing != 3 {
		t.Errorf("%+v", done)
	}

	wrong, err := NewServer(db.URL(), "certifier:wrong")
	if err != nil {
		t.Fatal(err)
	}
	v = NewView(wrong)
	v.Begin(a)
	v.Add(worker(0, 1, start, 10))
	if done := v.Finish(t.Context(), nil); done.Err == nil || done.Missing != 1 || done.Seconds != 1 {
		t.Errorf("%+v", done)
	}
}

func TestPending(t *testing.T) {
	p := newPending(2)
	state := func() string { return fmt.Sprint(p.due(endOfTime), p.incomplete(), p.total(), p.missing()) }
	written := func(second int64) { p.kept[second].written = p.kept[second].changes }
	frame := func(second int64) metric.Frame { return worker(0, 0, second, 2) }
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"empty", func() {}, "[] [] 0 0"},
		{"two come", func() { p.add(frame(1)); p.add(frame(2)) }, "[1 2] [] 2 2"},
		{"one is written", func() { written(1) }, "[2] [] 2 1"},
		{"and changes", func() { p.add(frame(1)) }, "[1 2] [] 2 2"},
		{"a third: the oldest is forgotten unwritten", func() { p.add(frame(3)) }, "[2 3] [1] 3 3"},
		{"two are written and settle", func() { written(2); p.settle(3) }, "[3] [1] 3 2"},
		{"what has not settled stays", func() { written(3); p.settle(3) }, "[] [1] 3 1"},
		{"one comes late for a forgotten one", func() { p.add(frame(2)) }, "[] [1 2] 3 2"},
		{"the closing frame, an empty one and a time that nobody has", func() {
			p.add(metric.Frame{Second: 9, Closing: true, Points: frame(9).Points})
			p.add(metric.Frame{Second: 9})
			p.add(frame(1 << 60))
		}, "[] [1 2] 3 2"},
	} {
		step.do()
		if got := state(); got != step.want {
			t.Fatalf("%s: %s, want %s", step.name, got, step.want)
		}
	}
}

// Only what a write refuses is held back by it.
func TestRefusedBatchDoesNotHoldUpTheOthers(t *testing.T) {
	points := func(second int64) []Point {
		many := make([]Point, batchLines)
		for i := range many {
			many[i] = Point{Measurement: "m", Fields: []Field{{Name: "f", Value: 1}}, Second: second}
		}
		return many
	}
	for name, c := range map[string]struct {
		err  error
		want []int64
	}{
		"refused": {hint.With(&refusal{errors.New("no")}, "see its log"), []int64{1, 3}},
		"away":    {errors.New("no answer"), []int64{1}},
	} {
		var sent []int64
		writes := 0
		err := sending{
			points: points,
			write: func([]byte) error {
				if writes++; writes == 2 {
					return c.err
				}
				return nil
			},
			sent: func(seconds []int64) { sent = append(sent, seconds...) },
		}.send([]int64{1, 2, 3})
		if !errors.Is(err, c.err) || !cmp.Equal(sent, c.want) {
			t.Errorf("%s: %v, sent %v, want %v", name, err, sent, c.want)
		}
	}
}
