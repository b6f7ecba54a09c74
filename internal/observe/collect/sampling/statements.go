package sampling

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/metric"
)

// Usage is the executions of a statement.
type Usage struct {
	Calls, Ms float64
	Rows      float64 // rows that were examined
}

func (u Usage) plus(v Usage) Usage { return Usage{u.Calls + v.Calls, u.Ms + v.Ms, u.Rows + v.Rows} }

// StatementName holds the labels of a statement.
type StatementName struct{ Digest, Text string }

// Statements turns readings of statement times into points. K identifies a row of the server's
// table, and D a statement, which may have several rows.
type Statements[K comparable, D cmp.Ordered] struct {
	Statement func(row K) D
	Partial   bool                // a reading has only the rows that have changed
	Last      map[K]Usage         // previous values; nil: none
	Names     map[D]StatementName // labels of the statements read so far; reading texts is slow
}

// Increase returns the increases of the rows that were read since the last reading, by
// statement; none the first time. If values of a row decreased, it was reset or evicted, and
// the increase is unknown.
func (s *Statements[K, D]) Increase(seen map[K]Usage) map[D]Usage {
	changed := map[D]Usage{}
	for row, now := range seen {
		before := s.Last[row]
		if s.Last == nil || now.Calls <= before.Calls || now.Ms < before.Ms {
			continue
		}
		of := s.Statement(row)
		changed[of] = changed[of].plus(Usage{now.Calls - before.Calls, now.Ms - before.Ms, now.Rows - min(now.Rows, before.Rows)})
	}
	if s.Last == nil || !s.Partial {
		s.Last = seen
	} else {
		maps.Copy(s.Last, seen)
	}
	return changed
}

// ByTime are the statements, that with the most time first.
func ByTime[D cmp.Ordered](changed map[D]Usage) []D {
	return slices.SortedFunc(maps.Keys(changed), func(a, b D) int {
		return cmp.Or(cmp.Compare(changed[b].Ms, changed[a].Ms), cmp.Compare(a, b))
	})
}

// Points returns points for the statements with the most time, for the sum of all others, and
// the time of all. rows: the rows that they examined are known.
func (s *Statements[K, D]) Points(changed map[D]Usage, labels Digests, rows bool) (points []metric.Point, ms float64) {
	sums := map[StatementName]Usage{}
	top := 0
	for _, d := range ByTime(changed) {
		name := s.Names[d]
		switch _, known := sums[name]; {
		case known:
		case name.Digest != "" && top < TopDigests && labels.Label(name.Digest) == name.Digest:
			top++
		default:
			name = StatementName{Digest: Other}
		}
		sums[name] = sums[name].plus(changed[d])
		ms += changed[d].Ms
	}
	for name, u := range sums {
		add := func(metricName string, v float64) {
			points = append(points, metric.CounterPoint(metric.Of(metricName, "digest", name.Digest, "statement", name.Text), v))
		}
		add(metric.DBStatementTime, u.Ms)
		add(metric.DBStatements, u.Calls)
		if rows {
			add(metric.DBRowsExamined, u.Rows)
		}
	}
	return points, ms
}

const (
	// MaxDigests bounds the values of the label digest; later ones become Other. Known
	// values are never evicted, so that a label keeps its meaning.
	MaxDigests = 50
	// Other labels all statements that have no label of their own.
	Other = "other"
	// DigestDigits is the length of a label that is a hash, in hexadecimal digits: 64 bits.
	DigestDigits = 16
	// TopDigests is how many statements of a second get a label of their own, by time.
	TopDigests = 20
)

// Digests bounds the distinct values of the label digest over a run.
type Digests map[string]struct{}

// Label returns the digest, or Other once there are too many; none for none.
func (d Digests) Label(digest string) string {
	if digest == "" {
		return ""
	}
	return bounded(d, digest, MaxDigests)
}

// bounded returns a label, or Other if it would be one too many.
func bounded(known map[string]struct{}, label string, most int) string {
	if _, ok := known[label]; !ok && len(known) >= most {
		return Other
	}
	known[label] = struct{}{}
	return label
}

// MaxClients bounds the values of the label client; later ones become Other. Known values
// are never evicted.
const MaxClients = 8

// Client identifies a program that uses the database, as far as the server knows it.
// Empty fields are not known.
type Client struct {
	User, Host string // host without the port
	Schema     string
	Program    string
	Process    string // id on its host
}

// Label names the client, like "batch@10.0.0.7 (warehouse, mysql, process 4711)".
func (c Client) Label() string {
	name := c.User
	if c.Host != "" {
		name += "@" + c.Host
	}
	more := slices.DeleteFunc([]string{c.Schema, c.Program}, func(s string) bool { return s == "" })
	if c.Process != "" {
		more = append(more, "process "+c.Process)
	}
	if len(more) > 0 {
		name += " (" + strings.Join(more, ", ") + ")"
	}
	return Shorten(name)
}

// Clients bounds the distinct values of the label client over a run.
type Clients map[string]struct{}

// Label returns the client's label, or Other once there are too many.
func (c Clients) Label(of Client) string { return bounded(c, of.Label(), MaxClients) }
