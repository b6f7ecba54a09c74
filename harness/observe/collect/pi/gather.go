package pi

import (
	"context"
	"maps"
	"time"
)

// loads is the published load of a run: the whole by second, and its parts.
type loads struct {
	total      map[int64]float64
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

// span is the seconds of one request.
type span struct {
	from, to int64
	waits    []series          // of the last answer
	total    map[int64]float64 // of the last answer
	final    bool
}

// gather asks for all seconds, again until all are published and stay the same, or
// time is up. With an error it returns what it has found.
func (c *Collector) gather(ctx context.Context, from, to int64) (all loads, err error) {
	all.total = map[int64]float64{}
	var spans []*span
	for begin := from; begin < to; begin += chunk {
		spans = append(spans, &span{from: begin, to: min(begin+chunk, to)})
	}
	deadline := time.Now().Add(c.options.Timeout)
	for {
		if err = c.request(ctx, spans); err != nil || allFinal(spans) || c.options.Interrupted.Err() != nil || time.Now().After(deadline) {
			break
		}
		select {
		case <-c.options.Interrupted.Done(): // a last request
		case <-time.After(c.options.Interval):
		}
	}
	for _, s := range spans {
		maps.Copy(all.total, s.total)
		all.waits = append(all.waits, s.waits...)
		if len(s.total) == 0 || err != nil {
			continue // after a fault the next request would run into its timeout too
		}
		var statements []series
		if statements, err = c.api.load(ctx, bySQL, s.from, s.to); err == nil {
			all.statements = append(all.statements, statements...)
		}
	}
	return all, err
}

// request asks once more for the spans that are not final yet.
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

// totalOf is the whole load, which comes with every group.
func totalOf(all []series) map[int64]float64 {
	for _, s := range all {
		if len(s.dimensions) == 0 {
			return s.load
		}
	}
	return map[int64]float64{}
}
