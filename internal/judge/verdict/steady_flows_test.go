package verdict

import (
	"slices"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
)

// The drift of a flow is looked for where the rate of all flows does not change; that of a
// run without flows in all of its judged windows.
func TestUnderConstantLoad(t *testing.T) {
	e := &part{evidence: &evidence{spans: []record.Span{{From: 20, To: 60}, {From: 70, To: 90}}}}
	e.Facts.T0 = time.Unix(0, 0)
	for _, s := range []struct{ seconds, from, to float64 }{{10, 0, 5}, {30, 5, 5}, {10, 5, 5}, {5, 5, 9}, {25, 9, 9}, {20, 7, 7}} {
		start := time.Duration(0)
		if n := len(e.total.Stages); n > 0 {
			start = e.total.Stages[n-1].End()
		}
		e.total.Stages = append(e.total.Stages, plan.Stage{Start: start, Duration: time.Duration(s.seconds) * time.Second, From: s.from, To: s.to})
	}
	if got := underConstantLoad(e); !slices.Equal(got, e.spans) {
		t.Errorf("without flows %v, want %v", got, e.spans)
	}
	e.Flow = "receipts"
	if got, want := underConstantLoad(e), []record.Span{{From: 20, To: 50}, {From: 55, To: 60}, {From: 70, To: 80}, {From: 80, To: 90}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
