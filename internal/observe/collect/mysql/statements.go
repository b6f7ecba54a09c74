package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
)

// picosecond is the unit of performance_schema's timers, in ms.
const picosecond = 1e-9

// preparedExecute labels prepared statements where the server gives them no digest.
const preparedExecute = "com/Execute"

// statementKey identifies a row of events_statements_summary_by_digest. The row without
// a digest holds the sum of the statements for which the table has no room.
type statementKey struct{ schema, digest string }

// totals holds a number of executions, their time in ps and the rows that they examined.
type totals struct{ count, time, rows uint64 }

// statements turns readings of statement times into points.
type statements struct {
	last  map[statementKey]totals // previous values; nil: none
	at    time.Time               // of the previous reading
	names map[string]statementName
}

// statementName holds the labels of a digest. They are read once, because reading the
// texts is slow.
type statementName struct{ digest, text string }

// readStatements returns the increases since the last reading by digest; none the first
// time.
func (c *Collector) readStatements(ctx context.Context, s *statements) (map[string]totals, error) {
	now := time.Now()
	query := "SELECT SCHEMA_NAME, DIGEST, COUNT_STAR, SUM_TIMER_WAIT, SUM_ROWS_EXAMINED FROM performance_schema.events_statements_summary_by_digest WHERE TRUE"
	var args []any
	if c.link.schema != "" {
		query += " AND (SCHEMA_NAME = ? OR DIGEST IS NULL)"
		args = append(args, c.link.schema)
	}
	if s.last != nil {
		// Unchanged rows need not be read. LAST_SEEN has whole seconds on MariaDB.
		query += fmt.Sprintf(" AND LAST_SEEN >= NOW(6) - INTERVAL %d SECOND", int(math.Ceil(now.Sub(s.at).Seconds()))+2)
	}
	if more := c.link.flavour.unlabelled; more != "" {
		query += " UNION ALL " + more
	}
	seen := map[statementKey]totals{}
	err := c.link.query(ctx, query, args, func(rows *sql.Rows) error {
		var schema, digest sql.NullString
		var t totals
		if err := rows.Scan(&schema, &digest, &t.count, &t.time, &t.rows); err != nil {
			return err
		}
		seen[statementKey{schema.String, digest.String}] = t
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.increase(seen, now), nil
}

// increase returns the increases since the last reading by digest, summed over schemas.
// If values of a row decreased, the table was truncated and the increase is unknown.
func (s *statements) increase(seen map[statementKey]totals, now time.Time) map[string]totals {
	first := s.last == nil
	if first {
		s.last = make(map[statementKey]totals, len(seen))
	}
	changed := map[string]totals{}
	for key, t := range seen {
		before := s.last[key]
		s.last[key] = t
		if first || t.count <= before.count || t.time < before.time {
			continue
		}
		sum := changed[key.digest]
		sum.count += t.count - before.count
		sum.time += t.time - before.time
		sum.rows += t.rows - min(t.rows, before.rows)
		changed[key.digest] = sum
	}
	s.at = now
	return changed
}

// restart discards the values from before a restart of the server, so that the next
// reading is a first one.
func (s *statements) restart() { s.last = nil }

// statementPoints returns points for the digests with the most time, and for the sum of
// all others.
func (c *Collector) statementPoints(ctx context.Context, s *statements, changed map[string]totals, labels sampling.Digests) ([]metric.Point, error) {
	if changed[""].count > 0 {
		c.notes.Add("database: the digest table of performance_schema is full, so the digest \"other\" includes statements of any schema; " +
			"run as an administrator: TRUNCATE TABLE performance_schema.events_statements_summary_by_digest;")
	}
	byTime := slices.SortedFunc(maps.Keys(changed), func(a, b string) int {
		return cmp.Or(cmp.Compare(changed[b].time, changed[a].time), cmp.Compare(a, b))
	})
	err := c.nameDigests(ctx, s, byTime[:min(len(byTime), sampling.TopDigests)])
	sums := map[statementName]totals{}
	for i, digest := range byTime {
		name := statementName{digest: sampling.Other}
		if known, ok := s.names[digest]; ok && i < sampling.TopDigests && labels.Label(known.digest) == known.digest {
			name = known
		}
		sum := sums[name]
		sum.count += changed[digest].count
		sum.time += changed[digest].time
		sum.rows += changed[digest].rows
		sums[name] = sum
	}
	points := make([]metric.Point, 0, 3*len(sums))
	for name, t := range sums {
		points = append(points,
			metric.CounterPoint(metric.Of(metric.DBStatementTime, "digest", name.digest, "statement", name.text), float64(t.time)*picosecond),
			metric.CounterPoint(metric.Of(metric.DBStatements, "digest", name.digest, "statement", name.text), float64(t.count)),
			metric.CounterPoint(metric.Of(metric.DBRowsExamined, "digest", name.digest, "statement", name.text), float64(t.rows)))
	}
	return points, err
}

// nameDigests reads the texts of digests whose labels are not known yet.
func (c *Collector) nameDigests(ctx context.Context, s *statements, digests []string) error {
	var missing []string
	for _, digest := range digests {
		switch _, known := s.names[digest]; {
		case known || digest == "": // the row without a digest stays "other"
		case strings.HasPrefix(digest, "com/"):
			s.names[digest] = statementName{digest: digest, text: "prepared statements, which have no digest on MariaDB"}
		default:
			missing = append(missing, digest)
		}
	}
	if len(missing) == 0 || len(s.names) > 4*sampling.MaxDigests {
		return nil
	}
	query := "SELECT DIGEST, DIGEST_TEXT FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST IN " + list(missing)
	var args []any
	if c.link.schema != "" {
		query += " AND SCHEMA_NAME = ?" // MySQL then uses an index
		args = append(args, c.link.schema)
	}
	return c.link.query(ctx, query, args, func(rows *sql.Rows) error {
		var digest string
		var text sql.NullString
		if err := rows.Scan(&digest, &text); err != nil {
			return err
		}
		name := statementName{digest: digest[:min(len(digest), sampling.DigestDigits)], text: sampling.Shorten(text.String)}
		if c.link.flavour.digestIsText {
			name.digest = textDigest(text.String)
		}
		s.names[digest] = name
		return nil
	})
}
