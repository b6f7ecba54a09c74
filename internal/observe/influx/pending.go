package influx

import (
	"slices"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// pending knows the seconds of a run and which of them are written. It keeps those in memory
// that may still change or are not written, up to a limit. Not safe for concurrent use.
type pending struct {
	limit   int // seconds in memory
	seconds map[int64]*pendingSecond
}

// pendingSecond is one second of a run.
type pendingSecond struct {
	timeline *record.Timeline // timeline of this second only; nil: it is not in memory any more
	frames   int              // frames added
	written  int              // frames that the last successful write included
}

func newPending(limit int) *pending {
	return &pending{limit: limit, seconds: map[int64]*pendingSecond{}}
}

func (s *pendingSecond) complete() bool { return s.written == s.frames }

// add adds a frame. A frame for a second that is not in memory makes that second incomplete:
// points of the late frame alone would overwrite those of the whole second. Other senders are
// not part of the view: their intervals are longer, and their clocks may differ.
func (p *pending) add(f metric.Frame) {
	if f.Closing || metric.IsForeign(f.Source) || len(f.Points) == 0 || !representable(f.Second) {
		return
	}
	s := p.seconds[f.Second]
	if s == nil {
		s = &pendingSecond{timeline: record.NewTimeline()}
		p.seconds[f.Second] = s
		inMemory := p.list(func(_ int64, s *pendingSecond) bool { return s.timeline != nil })
		for _, oldest := range inMemory[:max(0, len(inMemory)-p.limit)] {
			p.seconds[oldest].timeline = nil
		}
	}
	s.frames++
	if s.timeline != nil {
		s.timeline.Add(f)
	}
}

// list lists the seconds for which keep holds, in order.
func (p *pending) list(keep func(second int64, s *pendingSecond) bool) (all []int64) {
	for second, s := range p.seconds {
		if keep(second, s) {
			all = append(all, second)
		}
	}
	slices.Sort(all)
	return all
}

// evictBefore takes the written seconds before the given one out of memory, for which no
// late completions are expected any more.
func (p *pending) evictBefore(end int64) {
	for _, second := range p.list(func(second int64, s *pendingSecond) bool { return second < end && s.timeline != nil && s.complete() }) {
		p.seconds[second].timeline = nil
	}
}

// due lists the seconds in memory before end that have changed since they were last written.
func (p *pending) due(end int64) []int64 {
	return p.list(func(second int64, s *pendingSecond) bool { return second < end && s.timeline != nil && !s.complete() })
}

// incomplete lists the seconds that were not written completely and are not in memory.
func (p *pending) incomplete() []int64 {
	return p.list(func(_ int64, s *pendingSecond) bool { return s.timeline == nil && !s.complete() })
}

const endOfTime = int64(1) << 62

// representable reports whether a second can be a timestamp of InfluxDB, which is in
// nanoseconds in 64 bits with some values reserved. A frame may have any.
func representable(second int64) bool { return second > -9_223_372_030 && second < 9_223_372_030 }
