package diagnose

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
)

// Only a span that continues a window after a recovery loses its first seconds, and only
// one that is long enough.
func TestWithoutLateEnds(t *testing.T) {
	r := record.Run{Plan: record.Plan{Load: plan.Plan{Timeout: 2500 * time.Millisecond}}}
	v := verdict.Verdict{
		Judged:   []record.Span{{From: 0, To: 20}, {From: 25, To: 60}, {From: 70, To: 77}, {From: 100, To: 160}},
		WindowOf: []int{0, 0, 0, 1},
	}
	want := []record.Span{{From: 0, To: 20}, {From: 28, To: 60}, {From: 70, To: 77}, {From: 100, To: 160}}
	if diff := cmp.Diff(want, withoutLateEnds(r, v)); diff != "" {
		t.Error(diff)
	}
	if v.Judged[1].From != 25 {
		t.Error("the verdict was changed")
	}
}
