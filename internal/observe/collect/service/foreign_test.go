package service

import (
	"math"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/metric"
)

// A value that cannot be true makes its metric unknown, not 0 and not too low.
func TestImplausibleValues(t *testing.T) {
	t.Parallel()
	const text = `# TYPE go_sql_in_use_connections gauge
go_sql_in_use_connections{db="a"} 3
go_sql_in_use_connections{db="b"} VALUE
# TYPE go_sql_open_connections gauge
go_sql_open_connections 7
# TYPE db_query_duration_seconds histogram
db_query_duration_seconds_bucket{le="-1"} 5
db_query_duration_seconds_bucket{le="+Inf"} 5
db_query_duration_seconds_sum VALUE
db_query_duration_seconds_count VALUE
`
	for _, value := range []string{"NaN", "-1", "+Inf", "-Inf", "1e308"} {
		s, err := read([]byte(strings.ReplaceAll(text, "VALUE", value)))
		r := s.reading
		if negative := strings.HasPrefix(value, "-"); err != nil || negative {
			if !negative || err == nil { // the parser refuses the whole
				t.Errorf("%s: %v", value, err)
			}
			continue
		}
		for name, want := range map[string]bool{metric.ServicePoolInUse: false, metric.ServicePoolOpen: true, metric.ServiceQueries: false, metric.ServiceQueryTime: false} {
			if _, known := r[name]; known != want {
				t.Errorf("%s of %s is known: %t", name, value, known)
			}
		}
	}
}

// FuzzExposition: two scrapes of anything give points that a record can hold.
func FuzzExposition(f *testing.F) {
	f.Add([]byte("go_sql_open_connections 1\n"), []byte("go_sql_open_connections NaN\n"))
	f.Add([]byte("# TYPE http_request_duration_seconds gauge\n{\"http_request_duration_seconds\"=\"a\"}1"), []byte(""))
	f.Add([]byte("# TYPE db_query_duration_seconds histogram\ndb_query_duration_seconds_bucket{le=\"0.1\"} 3\ndb_query_duration_seconds_sum 1\ndb_query_duration_seconds_count 3\n"),
		[]byte("# TYPE db_query_duration_seconds histogram\ndb_query_duration_seconds_bucket{le=\"-1\"} -3\ndb_query_duration_seconds_sum 1e308\ndb_query_duration_seconds_count 2\n"))
	f.Add([]byte("errors_total{class=\"a\"} 1\nshop_build_info{version=\"1\"} 1\n"), []byte("errors_total{class=\"\xff\"} -1\n"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		all, e := instances{}, &scrape.Endpoint{}
		for _, text := range [][]byte{first, second} {
			PoolIn(text)
			s, err := read(text)
			known := builds{}
			if known.add(s.builds); known.other(s.builds) && len(s.builds) <= maxBuilds {
				t.Errorf("an instance is another than itself: %v", s.builds)
			}
			points := all.add(time.Unix(1, 0), []scrape.Answer[scraped]{{Endpoint: e, Value: s, Err: err}}).sum.points()
			for _, p := range points {
				if p.Value < 0 || math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
					t.Errorf("%s is %g", p.Series.Key(), p.Value)
				}
			}
			if _, err := metric.Encode(metric.Frame{Source: metric.SourceService, Sequence: 1, Points: points}); err != nil {
				t.Error(err)
			}
		}
	})
}
