package influx

import (
	"maps"
	"slices"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// pending buffers the seconds of a run until they are written. It buffers seconds that
// may still change or are not written, up to a limit; of evicted seconds it knows only
// whether they were written completely. Not safe for concurrent use.
type pending struct {
	limit    int // buffered seconds
	buffered map[int64]*bufferedSecond
	done     map[int64]bool // evicted seconds; true: all of its frames were written
}

// bufferedSecond is one second in memory.
type bufferedSecond struct {
	timeline *record.Timeline // of this second only
	frames   int              // frames added
	written  int              // frames that the last successful write included
}

func newPending(limit int) *pending {
	return &pending{limit: limit, buffered: map[int64]*bufferedSecond{}, done: map[int64]bool{}}
}

// add adds a frame. A frame for an evicted second makes that second incomplete: points
// of the late frame alone would overwrite those of the whole second. Other senders are
// not part of the view: their intervals are longer, and their clocks may differ.
func (p *pending) add(f metric.Frame) {
	if f.Closing || metric.IsForeign(f.Source) || len(f.Points) == 0 || !representable(f.Second) {
		return
	}
	if _, evicted := p.done[f.Second]; evicted {
		p.done[f.Second] = false
		return
	}
	b := p.buffered[f.Second]
	if b == nil {
		b = &bufferedSecond{timeline: record.NewTimeline()}
		p.buffered[f.Second] = b
	}
	b.timeline.Add(f)
	b.frames++
	for len(p.buffered) > p.limit {
		p.evict(slices.Min(slices.Collect(maps.Keys(p.buffered))))
	}
}

func (p *pending) evict(second int64) {
	b := p.buffered[second]
	p.done[second] = b.written == b.frames
	delete(p.buffered, second)
}

// evictBefore evicts the written seconds before the given one, for which no late
// completions are expected any more.
func (p *pending) evictBefore(end int64) {
	for second, b := range p.buffered {
		if second < end && b.written == b.frames {
			p.evict(second)
		}
	}
}

// due lists the buffered seconds before end that have changed since they were last
// written, in order.
func (p *pending) due(end int64) (all []int64) {
	for second, b := range p.buffered {
		if second < end && b.written < b.frames {
			all = append(all, second)
		}
	}
	slices.Sort(all)
	return all
}

// incomplete lists the evicted seconds that were not written completely, in order.
func (p *pending) incomplete() (all []int64) {
	for second, complete := range p.done {
		if !complete {
			all = append(all, second)
		}
	}
	slices.Sort(all)
	return all
}

// total is the number of seconds added.
func (p *pending) total() int { return len(p.buffered) + len(p.done) }

// missing is the number of seconds that were not written completely.
func (p *pending) missing() int { return len(p.due(endOfTime)) + len(p.incomplete()) }

const endOfTime = int64(1) << 62

// representable reports whether a second can be a timestamp of InfluxDB, which is in
// nanoseconds in 64 bits with some values reserved. A frame may have any.
func representable(second int64) bool { return second > -9_223_372_030 && second < 9_223_372_030 }
