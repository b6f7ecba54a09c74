package verdict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/synthetic"
)

// Errors are those of the judged windows, from the client to the database.
func TestErrorsOfTheJudgedWindows(t *testing.T) {
	c := synthetic.Examples()["pass"]
	span := verdict.Judge(c).Judged[0]
	add := func(source string, second int64, n float64, name string, labels ...string) {
		c.Timeline.Add(metric.Frame{Source: source, Second: second, Points: []metric.Point{metric.CounterPoint(metric.Of(name, labels...), n)}})
	}
	class := func(source string, second int64, n float64, where, class string) {
		add(source, second, n, metric.ErrorsByClass, "where", where, "class", class)
	}
	class(metric.SourceService, span.From, 5, metric.AtService, metric.ErrorTooMany)
	class(metric.WorkerSource(0), span.From, 1, metric.AtClient, metric.ErrorReset)
	class(metric.WorkerSource(1), span.To-1, 2, metric.AtClient, metric.ErrorReset)
	class(metric.WorkerSource(0), span.From-1, 40, metric.AtClient, metric.ErrorReset) // before
	class(metric.WorkerSource(0), span.To, 40, metric.AtClient, metric.ErrorTimeout)   // after
	class(metric.WorkerSource(0), span.From, 7, metric.AtClient, metric.ErrorTimeout)
	add(metric.SourceDatabase, span.From, 3, metric.DBCounter, "name", "Connection_errors_max_connections")
	add(metric.SourceDatabase, span.From, 2, metric.DBCounter, "name", "deadlocks") // PostgreSQL's
	add(metric.SourceDatabase, span.From-1, 9, metric.DBCounter, "name", "deadlocks")
	type counted struct {
		Where, Class string
		Count        int64
	}
	var got []counted
	for _, e := range verdict.Judge(c).Errors {
		got = append(got, counted{e.Where, e.Class, e.Count})
	}
	want := []counted{{"client", "timeout", 7}, {"client", "connection reset", 3}, {"service", "too many connections", 5}, {"database", "too many connections", 3}, {"database", "deadlock", 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// While rows are still being stored, one that is missing may only be late.
func TestLateIsNotLost(t *testing.T) {
	c := synthetic.Examples()["lost"]
	if v := verdict.Judge(c); v.Outcome != verdict.LostWrite {
		t.Fatalf("%s", v.Outcome)
	}
	c.Facts.Ledger.Unfinished = true
	v := verdict.Judge(c)
	if v.Outcome == verdict.LostWrite || v.Outcome == verdict.Pass {
		t.Errorf("%s: %s", v.Outcome, v.Claim)
	}
	for _, s := range v.SLOs {
		if s.Metric == metric.Ledger && s.Expression == "missing==0" && s.Outcome != verdict.Inconclusive {
			t.Errorf("missing==0 is %s", s.Outcome)
		}
	}
}
