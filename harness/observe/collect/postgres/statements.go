package postgres

import (
	"cmp"
	"context"
	_ "embed"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay/harness/observe/collect/sampling"
	"assay/harness/observe/metric"
)

var (
	//go:embed sql/statements.sql
	statementsSQL string
	//go:embed sql/texts.sql
	textsSQL string
)

// own is how the collector's statements begin.
const own = "/* assay */"

// work is the total of statements.
type work struct {
	calls int64
	ms    float64
}

// statements turns readings of pg_stat_statements into points.
type statements struct {
	last  map[int64]work   // previous values; nil: none
	texts map[int64]string // that were read; reading texts is slow
	own   map[int64]bool   // the statement is the collector's
	rest  rest
}

// readStatements returns what has changed since the last reading, or, the first
// time, nothing.
func (c *Collector) readStatements(ctx context.Context, s *statements) (map[int64]work, error) {
	if !c.facts.counted() {
		return nil, nil
	}
	seen := map[int64]work{}
	err := c.link.query(ctx, c.facts.inSchema(statementsSQL), nil, func(rows pgx.Rows) error {
		var id int64
		var w work
		err := rows.Scan(&id, &w.calls, &w.ms)
		seen[id] = w
		return err
	})
	switch {
	case is(err, errDenied):
		c.notes.Add("database: times of statements are not recorded; run as an administrator: GRANT USAGE ON SCHEMA %s TO %s;", c.facts.schema, c.facts.user)
		c.facts.track = ""
		return nil, nil
	case is(err, errNotLoaded, errNoFunction, errNoSchema):
		c.facts.schema = "" // dropped since the facts were read
		c.noteStatements()
		return nil, nil
	case err != nil:
		return nil, err
	}
	return s.increase(seen), nil
}

// increase compares a reading with the last one. A statement whose values fell was
// reset or evicted: its increase is unknown.
func (s *statements) increase(seen map[int64]work) map[int64]work {
	changed := map[int64]work{}
	for id, w := range seen {
		if before := s.last[id]; s.last != nil && w.calls > before.calls && w.ms >= before.ms {
			changed[id] = work{w.calls - before.calls, w.ms - before.ms}
		}
	}
	s.last = seen
	return changed
}

// restart forgets the values of the server before a restart.
func (s *statements) restart() { s.last, s.rest = nil, rest{} }

// readTexts reads the texts of statements that have none yet, the slowest first.
func (c *Collector) readTexts(ctx context.Context, s *statements, order []int64) error {
	var missing []int64
	for _, id := range order {
		if _, known := s.texts[id]; !known && id != 0 && len(s.texts)+len(missing) < 4*sampling.MaxDigests {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return c.link.query(ctx, c.facts.inSchema(textsSQL), []any{missing}, func(rows pgx.Rows) error {
		var id int64
		var text string
		err := rows.Scan(&id, &text)
		s.own[id] = strings.HasPrefix(text, own)
		s.texts[id] = sampling.Shorten(strings.Join(strings.Fields(text), " "))
		return err
	})
}

// statementPoints makes points of the statements that took most time, of the others
// as one, and of the active time of sessions that no statement has counted.
func (c *Collector) statementPoints(ctx context.Context, s *statements, changed map[int64]work, active float64, labels sampling.Digests) ([]metric.Point, error) {
	order := slices.SortedFunc(maps.Keys(changed), func(a, b int64) int {
		return cmp.Or(cmp.Compare(changed[b].ms, changed[a].ms), cmp.Compare(a, b))
	})
	err := c.readTexts(ctx, s, order)
	type label struct{ digest, text string }
	sums := map[label]work{}
	counted, top := 0.0, 0
	for _, id := range order {
		if s.own[id] {
			continue
		}
		is := label{digest: sampling.Other}
		if text, ok := s.texts[id]; ok && top < sampling.TopDigests && labels.Label(digest(id)) == digest(id) {
			is = label{digest(id), text}
			top++
		}
		sum := sums[is]
		sum.calls += changed[id].calls
		sum.ms += changed[id].ms
		sums[is] = sum
		counted += changed[id].ms
	}
	points := make([]metric.Point, 0, 2*len(sums)+1)
	for is, w := range sums {
		points = append(points,
			metric.CounterPoint(metric.NewSeries(metric.DBStatementTime, "ms", "digest", is.digest, "statement", is.text), w.ms),
			metric.CounterPoint(metric.NewSeries(metric.DBStatements, "", "digest", is.digest, "statement", is.text), float64(w.calls)))
	}
	name := outside
	if !c.facts.counted() {
		name = everything
	}
	spent := float64(c.link.spent.Microseconds()) / 1000
	c.link.spent = 0
	if ms := s.rest.more(active - counted - spent); ms > 0 {
		points = append(points, metric.CounterPoint(metric.NewSeries(metric.DBStatementTime, "ms", "digest", name.digest, "statement", name.text), ms))
	}
	return points, err
}
