package influx

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/metric"
)

func TestPending(t *testing.T) {
	p := newPending(2)
	state := func() string {
		return fmt.Sprint(p.due(endOfTime), p.incomplete(), len(p.seconds), len(p.due(endOfTime))+len(p.incomplete()))
	}
	written := func(second int64) { p.seconds[second].written = p.seconds[second].frames }
	frame := func(second int64) metric.Frame { return worker(0, 0, second, 2) }
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"empty", func() {}, "[] [] 0 0"},
		{"two are added", func() { p.add(frame(1)); p.add(frame(2)) }, "[1 2] [] 2 2"},
		{"one is written", func() { written(1) }, "[2] [] 2 1"},
		{"and changed", func() { p.add(frame(1)) }, "[1 2] [] 2 2"},
		{"a third: the oldest is evicted unwritten", func() { p.add(frame(3)) }, "[2 3] [1] 3 3"},
		{"the second is written and evicted", func() { written(2); p.evictBefore(3) }, "[3] [1] 3 2"},
		{"a second after the limit stays", func() { written(3); p.evictBefore(3) }, "[] [1] 3 1"},
		{"a late frame for an evicted second", func() { p.add(frame(2)) }, "[] [1 2] 3 2"},
		{"the closing frame, an empty one, an invalid time and other senders are ignored", func() {
			p.add(metric.Frame{Source: "otlp/shop", Second: 9, Points: frame(9).Points})
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

// After a rejected batch the next ones are written, after any other error they are not.
func TestRejectedBatchDoesNotStopTheOthers(t *testing.T) {
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
		"rejected": {hint.With(&rejectedError{errors.New("no")}, "see its log"), []int64{1, 3}},
		"outage":   {errors.New("no response"), []int64{1}},
	} {
		var sent []int64
		writes := 0
		err := sender{
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
