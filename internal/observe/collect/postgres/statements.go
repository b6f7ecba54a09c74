package postgres

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
)

var (
	//go:embed sql/statements.sql
	statementsSQL string
	//go:embed sql/texts.sql
	textsSQL string
)

// ownPrefix starts all of the collector's statements.
const ownPrefix = "/* assay */"

// totals holds a number of executions and their time.
type totals struct {
	calls int64
	ms    float64
}

// statementName holds the labels of a statement. Statements that differ only by literals have
// the same.
type statementName struct{ digest, text string }

// statements turns readings of pg_stat_statements into points.
type statements struct {
	last      map[int64]totals             // previous values by query id; nil: none
	names     map[string]statementName     // of the digests read so far; reading texts is slow
	first     map[[sha256.Size]byte]string // digests by the text's hash
	ownIDs    map[int64]bool               // true: the statement is the collector's
	remainder remainder
}

// readStatements returns the increases since the last reading by query id; none the first
// time.
func (c *Collector) readStatements(ctx context.Context, s *statements) (map[int64]totals, error) {
	if !c.capabilities.statementTimes() {
		return nil, nil
	}
	seen := map[int64]totals{}
	err := c.link.query(ctx, c.capabilities.inSchema(statementsSQL), nil, func(rows pgx.Rows) error {
		var id int64
		var t totals
		err := rows.Scan(&id, &t.calls, &t.ms)
		seen[id] = t
		return err
	})
	switch {
	case is(err, errDenied):
		c.notes.Add("database: times of statements are not recorded; run as an administrator: GRANT USAGE ON SCHEMA %s TO %s;", c.capabilities.schema, c.capabilities.user)
		c.capabilities.track = ""
		return nil, nil
	case is(err, errNotLoaded, errNoFunction, errNoSchema):
		c.capabilities.schema = "" // dropped since the capabilities were read
		c.noteStatements()
		return nil, nil
	case err != nil:
		return nil, err
	}
	return s.increase(seen), nil
}

// increase returns the increases since the last reading. If values of a statement
// decreased, it was reset or evicted and the increase is unknown.
func (s *statements) increase(seen map[int64]totals) map[int64]totals {
	changed := map[int64]totals{}
	for id, t := range seen {
		if before := s.last[id]; s.last != nil && t.calls > before.calls && t.ms >= before.ms {
			changed[id] = totals{t.calls - before.calls, t.ms - before.ms}
		}
	}
	s.last = seen
	return changed
}

// restart discards the values from before a restart of the server.
func (s *statements) restart() { s.last, s.remainder = nil, remainder{} }

// readTexts reads the texts of statements that are not known yet, in the given order up to
// a limit.
func (c *Collector) readTexts(ctx context.Context, s *statements, byTime []int64) error {
	var missing []int64
	for _, id := range byTime {
		if _, known := s.names[digest(id)]; !known && id != 0 && len(s.names)+len(missing) < 4*sampling.MaxDigests {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return c.link.query(ctx, c.capabilities.inSchema(textsSQL), []any{missing}, func(rows pgx.Rows) error {
		var id int64
		var text string
		err := rows.Scan(&id, &text)
		s.ownIDs[id] = strings.HasPrefix(text, ownPrefix)
		text = database.WithoutLiterals(text)
		hash := sha256.Sum256([]byte(text))
		s.first[hash] = cmp.Or(s.first[hash], digest(id))
		s.names[digest(id)] = statementName{s.first[hash], sampling.Shorten(text)}
		return err
	})
}

// statementPoints returns points for the statements with the most time, for the sum of all
// others, and for the active time outside of statements. active is the active time of all
// sessions since the last reading, in ms.
func (c *Collector) statementPoints(ctx context.Context, s *statements, changed map[int64]totals, active float64, labels sampling.Digests) ([]metric.Point, error) {
	byTime := slices.SortedFunc(maps.Keys(changed), func(a, b int64) int {
		return cmp.Or(cmp.Compare(changed[b].ms, changed[a].ms), cmp.Compare(a, b))
	})
	err := c.readTexts(ctx, s, byTime)
	sums := map[statementName]totals{}
	counted, top := 0.0, 0
	for _, id := range byTime {
		if s.ownIDs[id] {
			continue
		}
		l := s.names[digest(id)]
		sum, known := sums[l]
		switch {
		case known:
		case l.digest != "" && top < sampling.TopDigests && labels.Label(l.digest) == l.digest:
			top++
		default:
			l = statementName{digest: sampling.Other}
			sum = sums[l]
		}
		sum.calls += changed[id].calls
		sum.ms += changed[id].ms
		sums[l] = sum
		counted += changed[id].ms
	}
	points := make([]metric.Point, 0, 2*len(sums)+1)
	for l, t := range sums {
		points = append(points,
			metric.CounterPoint(metric.Of(metric.DBStatementTime, "digest", l.digest, "statement", l.text), t.ms),
			metric.CounterPoint(metric.Of(metric.DBStatements, "digest", l.digest, "statement", l.text), float64(t.calls)))
	}
	name := outside
	if !c.capabilities.statementTimes() {
		name = everything
	}
	spent := float64(c.link.spent.Microseconds()) / 1000
	c.link.spent = 0
	if ms := s.remainder.add(active - counted - spent); ms > 0 {
		points = append(points, metric.CounterPoint(metric.Of(metric.DBStatementTime, "digest", name.digest, "statement", name.text), ms))
	}
	return points, err
}
