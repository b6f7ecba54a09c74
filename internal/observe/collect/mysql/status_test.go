package mysql

import (
	"slices"
	"testing"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
)

func TestStatusGivesNoNegativeIncrease(t *testing.T) {
	var s status
	reading := func(uptimeValue, questions, running float64) map[string]float64 {
		return map[string]float64{uptime: uptimeValue, "Questions": questions, "Threads_running": running}
	}
	for _, c := range []struct {
		name      string
		now       map[string]float64
		increase  float64 // -1: no point
		restarted bool
	}{
		{"the first reading has nothing to compare with", reading(100, 1000, 3), -1, false},
		{"an increase", reading(101, 1200, 4), 200, false},
		{"no change", reading(102, 1200, 1), 0, false},
		{"FLUSH STATUS", reading(103, 7, 1), 0, false},
		{"an increase after it", reading(104, 10, 1), 3, false},
		{"another server with smaller values", reading(2, 5, 1), -1, true},
		{"an increase on that server", reading(3, 25, 1), 20, false},
		{"another server with larger values", reading(1, 500, 1), -1, true},
	} {
		points, restarted := s.points(c.now)
		increase, running := -1.0, -1.0
		for _, p := range points {
			switch {
			case p.Kind == metric.Counter && p.Series.Label("name") == "Questions":
				increase = p.Value
			case p.Kind == metric.Gauge && p.Series.Label("name") == "Threads_running":
				running = p.Value
			}
		}
		if increase != c.increase || restarted != c.restarted || running != c.now["Threads_running"] {
			t.Errorf("%s: increase %v, gauge %v, restarted %v", c.name, increase, running, restarted)
		}
	}
}

// Where commits are not counted their number is unknown rather than 0.
func TestCommitsNotCounted(t *testing.T) {
	var s status
	for i, c := range []struct {
		total float64
		sent  bool
	}{{0, false}, {0, false}, {7, false}, {9, true}, {9, true}} {
		points, _ := s.points(map[string]float64{uptime: float64(i), "Questions": 1, transactions: c.total, binlogCommits: c.total})
		for _, name := range []string{transactions, binlogCommits, "Questions"} {
			sent := slices.ContainsFunc(points, func(p metric.Point) bool { return p.Series.Label("name") == name })
			if want := c.sent || name == "Questions" && i > 0; sent != want {
				t.Errorf("reading %d: %s is sent: %v", i, name, sent)
			}
		}
	}
}

func TestStatementIncrease(t *testing.T) {
	s := newStatements()
	key := func(schema, digest string) statementKey { return statementKey{schema, digest} }
	if got := s.Increase(map[statementKey]sampling.Usage{key("a", "1"): {Calls: 10, Ms: 100, Rows: 7}}); len(got) != 0 {
		t.Errorf("the first reading gave %v", got)
	}
	got := s.Increase(map[statementKey]sampling.Usage{
		key("a", "1"): {Calls: 12, Ms: 150, Rows: 9},
		key("b", "1"): {Calls: 3, Ms: 30, Rows: 300}, // new in this reading
		key("a", "2"): {Calls: 1, Ms: 5, Rows: 0},
		key("", ""):   {Calls: 2, Ms: 7, Rows: 1}, // statements for which the table has no room
	})
	want := map[string]sampling.Usage{"1": {Calls: 5, Ms: 80, Rows: 302}, "2": {Calls: 1, Ms: 5, Rows: 0}, "": {Calls: 2, Ms: 7, Rows: 1}}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for digest, w := range want {
		if got[digest] != w {
			t.Errorf("digest %q: got %v, want %v", digest, got[digest], w)
		}
	}
	if got := s.Increase(map[statementKey]sampling.Usage{key("a", "1"): {Calls: 1, Ms: 1, Rows: 1}}); len(got) != 0 {
		t.Errorf("a truncated table gave %v", got)
	}
	if got := s.Increase(map[statementKey]sampling.Usage{key("a", "1"): {Calls: 3, Ms: 4, Rows: 5}}); got["1"] != (sampling.Usage{Calls: 2, Ms: 3, Rows: 4}) {
		t.Errorf("after the truncation: %v", got)
	}
}
