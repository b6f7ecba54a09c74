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

	"assay/harness/observe/collect/sampling"
	"assay/harness/observe/metric"
)

// picosecond is the unit of performance_schema's timers, in ms.
const picosecond = 1e-9

// preparedExecute labels prepared statements where the server gives them no digest.
const preparedExecute = "com/Execute"

// statementKey identifies a row of events_statements_summary_by_digest. The row
// without a digest sums the statements that the table has no room for.
type statementKey struct{ schema, digest string }

// work is the total of statements.
type work struct{ count, time, rows uint64 } // time in ps; rows examined

// statements turns readings of statement times into points.
type statements struct {
	last  map[statementKey]work // previous values; nil: none
	at    time.Time             // of the previous reading
	names map[string]statementName
}

// statementName is the label of a digest. It is read once, as the texts make reading
// the table slow.
type statementName struct{ digest, text string }

// readStatements returns what has changed since the last reading, or, the
// first time, nothing.
func (c *Collector) readStatements(ctx context.Context, s *statements) (map[string]work, error) {
	now := time.Now()
	query := "SELECT SCHEMA_NAME, DIGEST, COUNT_STAR, SUM_TIMER_WAIT, SUM_ROWS_EXAMINED FROM performance_schema.events_statements_summary_by_digest WHERE TRUE"
	var args []any
	if c.schema != "" {
		query += " AND (SCHEMA_NAME = ? OR DIGEST IS NULL)"
		args = append(args, c.schema)
	}
	if s.last != nil {
		// Rows that did not change need not be read. LAST_SEEN has whole seconds on
		// MariaDB.
		query += fmt.Sprintf(" AND LAST_SEEN >= NOW(6) - INTERVAL %d SECOND", int(math.Ceil(now.Sub(s.at).Seconds()))+2)
	}
	if more := c.link.flavour.unlabelled; more != "" {
		query += " UNION ALL " + more
	}
	seen := map[statementKey]work{}
	err := c.link.query(ctx, query, args, func(rows *sql.Rows) error {
		var schema, digest sql.NullString
		var w work
		if err := rows.Scan(&schema, &digest, &w.count, &w.time, &w.rows); err != nil {
			return err
		}
		seen[statementKey{schema.String, digest.String}] = w
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.increase(seen, now), nil
}

// increase compares a reading with the last one, by digest over all schemas. A
// row whose values fell was truncated: its increase is unknown.
func (s *statements) increase(seen map[statementKey]work, now time.Time) map[string]work {
	first := s.last == nil
	if first {
		s.last = make(map[statementKey]work, len(seen))
	}
	changed := map[string]work{}
	for key, w := range seen {
		before := s.last[key]
		s.last[key] = w
		if first || w.count <= before.count || w.time < before.time {
			continue
		}
		sum := changed[key.digest]
		sum.count += w.count - before.count
		sum.time += w.time - before.time
		sum.rows += w.rows - min(w.rows, before.rows)
		changed[key.digest] = sum
	}
	s.at = now
	return changed
}

// restart forgets the values of the server before a restart: the first reading after
// it is a new start.
func (s *statements) restart() { s.last = nil }

// statementPoints makes points of the digests that took most time, and of the others
// as one.
func (c *Collector) statementPoints(ctx context.Context, s *statements, changed map[string]work, labels sampling.Digests) ([]metric.Point, error) {
	if changed[""].count > 0 {
		c.notes.Add("database: the digest table of performance_schema is full, so the digest \"other\" includes statements of any schema; " +
			"run as an administrator: TRUNCATE TABLE performance_schema.events_statements_summary_by_digest;")
	}
	order := slices.SortedFunc(maps.Keys(changed), func(a, b string) int {
		return cmp.Or(cmp.Compare(changed[b].time, changed[a].time), cmp.Compare(a, b))
	})
	top := order[:min(len(order), sampling.TopDigests)]
	err := c.nameDigests(ctx, s, top)
	sums := map[statementName]work{}
	for i, digest := range order {
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
	for name, w := range sums {
		points = append(points,
			metric.CounterPoint(metric.NewSeries(metric.DBStatementTime, "ms", "digest", name.digest, "statement", name.text), float64(w.time)*picosecond),
			metric.CounterPoint(metric.NewSeries(metric.DBStatements, "", "digest", name.digest, "statement", name.text), float64(w.count)),
			metric.CounterPoint(metric.NewSeries(metric.DBRowsExamined, "", "digest", name.digest, "statement", name.text), float64(w.rows)))
	}
	return points, err
}

// nameDigests reads the texts of digests that have no label yet.
func (c *Collector) nameDigests(ctx context.Context, s *statements, digests []string) error {
	var missing []string
	for _, digest := range digests {
		switch _, known := s.names[digest]; {
		case known || digest == "": // statements that the table has no room for stay "other"
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
	if c.schema != "" {
		query += " AND SCHEMA_NAME = ?" // MySQL then uses an index
		args = append(args, c.schema)
	}
	return c.link.query(ctx, query, args, func(rows *sql.Rows) error {
		var digest string
		var text sql.NullString
		if err := rows.Scan(&digest, &text); err != nil {
			return err
		}
		name := statementName{digest: digest[:min(len(digest), digestDigits)], text: sampling.Shorten(text.String)}
		if c.link.flavour.digestIsText {
			name.digest = textDigest(text.String)
		}
		s.names[digest] = name
		return nil
	})
}
