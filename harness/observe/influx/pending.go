package influx

import (
	"maps"
	"slices"

	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

// pending is the seconds of a run on their way to the server. It keeps those
// that may still change or are not written, up to a limit; of an older one it
// knows only whether it was written whole. Not safe for concurrent use.
type pending struct {
	limit int
	kept  map[int64]*kept
	done  map[int64]bool // forgotten: true where what was written is all of it
}

// kept is one second in memory.
type kept struct {
	line    *record.Timeline // of this second alone
	changes int              // frames that came
	written int              // of these, how many the server has
}

func newPending(limit int) *pending {
	return &pending{limit: limit, kept: map[int64]*kept{}, done: map[int64]bool{}}
}

// add folds a frame in. One that comes for a forgotten second makes that one
// incomplete: a part of it alone would overwrite the whole.
func (p *pending) add(f metric.Frame) {
	if f.Closing || len(f.Points) == 0 || !representable(f.Second) {
		return
	}
	if _, forgotten := p.done[f.Second]; forgotten {
		p.done[f.Second] = false
		return
	}
	k := p.kept[f.Second]
	if k == nil {
		k = &kept{line: record.NewTimeline()}
		p.kept[f.Second] = k
	}
	k.line.Add(f)
	k.changes++
	for len(p.kept) > p.limit {
		p.forget(slices.Min(slices.Collect(maps.Keys(p.kept))))
	}
}

func (p *pending) forget(second int64) {
	k := p.kept[second]
	p.done[second] = k.written == k.changes
	delete(p.kept, second)
}

// settle forgets what is written and older than a second: no late completion is
// awaited for it.
func (p *pending) settle(before int64) {
	for second, k := range p.kept {
		if second < before && k.written == k.changes {
			p.forget(second)
		}
	}
}

// due lists the kept seconds before the end that have changed since they were
// written, in order.
func (p *pending) due(end int64) (all []int64) {
	for second, k := range p.kept {
		if second < end && k.written < k.changes {
			all = append(all, second)
		}
	}
	slices.Sort(all)
	return all
}

// incomplete lists the forgotten seconds that are not written whole, in order.
func (p *pending) incomplete() (all []int64) {
	for second, whole := range p.done {
		if !whole {
			all = append(all, second)
		}
	}
	slices.Sort(all)
	return all
}

// total is how many seconds there are, missing how many are not written whole.
func (p *pending) total() int { return len(p.kept) + len(p.done) }

func (p *pending) missing() int { return len(p.due(endOfTime)) + len(p.incomplete()) }

const endOfTime = int64(1) << 62

// representable tells whether a second can be written as a timestamp, which has
// nanoseconds in 64 bits (InfluxDB keeps some of them for itself). A sender of
// OTLP may say anything.
func representable(second int64) bool { return second > -9_223_372_030 && second < 9_223_372_030 }
