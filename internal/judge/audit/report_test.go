package audit

import (
	"strings"
	"testing"
)

// However much is wrong, a report is short, and its lines are one each.
func TestReportIsShort(t *testing.T) {
	t.Parallel()
	var r Report
	for range 100_000 {
		r.add(Evidence, Failed, "%s is missing", strings.Repeat("x\x1b\n", 2000))
	}
	if n := len(r.Checks); n != maxDetails+1 || r.Checks[maxDetails].Detail != "and more" || strings.ContainsAny(r.Checks[0].Detail, "\x1b\n") || len(r.Checks[0].Detail) > 4100 {
		t.Errorf("%d checks: %.100q ... %.100q", n, r.Checks[0].Detail, r.Checks[n-1].Detail)
	}
	if r.state(Evidence) != Failed || len(r.Broken) != 1 {
		t.Error("the check has not failed")
	}
}
