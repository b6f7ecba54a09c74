package service

import (
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

// The fastest tenth is found over all labels and instances, among the statements since the
// last reading.
func TestFastestStatements(t *testing.T) {
	parsed := func(text string) reading {
		t.Helper()
		s, err := read([]byte("# TYPE db_query_duration_seconds histogram\n" + text))
		r := s.reading
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	histogram := func(label, within1, within2, all string) string {
		series := "db_query_duration_seconds_bucket{statement=\"" + label + "\",le="
		return series + "\"0.001\"} " + within1 + "\n" + series + "\"0.002\"} " + within2 + "\n" + series + "\"+Inf\"} " + all + "\n" +
			"db_query_duration_seconds_sum{statement=\"" + label + "\"} 1\ndb_query_duration_seconds_count{statement=\"" + label + "\"} " + all + "\n"
	}
	first := parsed(histogram("insert", "500", "500", "1000") + histogram("select", "500", "500", "500"))
	for name, c := range map[string]struct {
		text string
		want float64 // ms; 0: not known
	}{
		"a tenth within 1 ms": {histogram("insert", "505", "510", "1050") + histogram("select", "505", "520", "550"), 1},
		"fewer within 1 ms":   {histogram("insert", "500", "510", "1050") + histogram("select", "505", "520", "550"), 2},
		"none within a bound": {histogram("insert", "500", "500", "1050") + histogram("select", "500", "500", "550"), 0},
		"no statement":        {histogram("insert", "500", "500", "1000") + histogram("select", "500", "500", "500"), 0},
	} {
		s := reading{}
		s.add(parsed(c.text).since(first))
		if got := values(s.points())[metric.ServiceQueryFastest]; got != c.want {
			t.Errorf("%s: %g ms, want %g", name, got, c.want)
		}
	}
	if _, ok := values(parsed("db_query_duration_seconds_sum 1\ndb_query_duration_seconds_count 9\n").points())[metric.ServiceQueryFastest]; ok {
		t.Error("without buckets the fastest are not known")
	}
}
