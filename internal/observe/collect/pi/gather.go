package pi

import (
	"context"
	"maps"
	"time"
)

// loads is the published load of a run.
type loads struct {
	total      map[int64]float64 // by second
	waits      []series
	statements []series
}

// missing counts the seconds of [from, to) without a load.
func (l loads) missing(from, to int64) (n int64) {
	for second := from; second < to; second++ {
		if _, ok := l.total[second]; !ok {
			n++
		}
	}
	return n
}

// span holds the seconds [from, to) of one request, and its last response.
type span struct {
	from, to int64
	waits    []series
	total    map[int64]float64 // by second
	final    bool
}

// gather requests all seconds repeatedly until all are final, or until the timeout. With
// an error it also returns what it has received.
func (c *Collector) gather(ctx context.Context, from, to int64) (all loads, err error) {
	all.total = map[int64]float64{}
	var spans []*span
	for begin := from; begin < to; begin += maxSeconds {
		spans = append(spans, &span{from: begin, to: min(begin+maxSeconds, to)})
	}
	deadline := time.Now().Add(c.options.Timeout)
	for {
		if err = c.request(ctx, spans); err != nil || allFinal(spans) || c.options.Interrupted.Err() != nil || time.Now().After(deadline) {
			break
		}
		select {
		case <-c.options.Interrupted.Done(): // one more request
		case <-time.After(c.options.Interval):
		}
	}
	for _, s := range spans {
		maps.Copy(all.total, s.total)
		all.waits = append(all.waits, s.waits...)
		if len(s.total) == 0 || err != nil {
			continue // after an error the next request would probably time out too
		}
		var statements []series
		if statements, err = c.api.load(ctx, bySQL, s.from, s.to); err == nil {
			all.statements = append(all.statements, statements...)
		}
	}
	return all, err
}

// request requests the spans that are not final yet. A span is final if it is complete, and
// either old enough or unchanged since the last request.
func (c *Collector) request(ctx context.Context, spans []*span) error {
	for _, s := range spans {
		if s.final {
			continue
		}
		waits, err := c.api.load(ctx, byWait, s.from, s.to)
		if err != nil {
			return err
		}
		before := s.total
		s.waits, s.total = waits, totalOf(waits)
		complete := int64(len(s.total)) == s.to-s.from
		old := time.Since(time.Unix(s.to, 0)) > c.options.FinalAfter
		s.final = complete && (old || maps.Equal(before, s.total))
	}
	return nil
}

func allFinal(spans []*span) bool {
	for _, s := range spans {
		if !s.final {
			return false
		}
	}
	return true
}

// totalOf returns the total load, which is part of every response.
func totalOf(all []series) map[int64]float64 {
	for _, s := range all {
		if len(s.dimensions) == 0 {
			return s.load
		}
	}
	return map[int64]float64{}
}
