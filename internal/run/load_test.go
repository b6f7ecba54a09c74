//go:build live

package run

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"assay.dev/assay/internal/plan"
)

// Workers that end a little before the end of the schedule are waited for; a run that is cut
// short, stopped or interrupted is not.
func TestAwaitEnd(t *testing.T) {
	for name, c := range map[string]struct {
		left, waits, interrupt time.Duration
		stopped                string
	}{
		"after the end":         {left: -time.Second},
		"a little before it":    {left: 30 * time.Millisecond, waits: 30 * time.Millisecond},
		"at the bound":          {left: aheadOfPlan, waits: aheadOfPlan},
		"long before it":        {left: aheadOfPlan + 1},
		"stopped":               {left: 30 * time.Millisecond, stopped: "worker/0 ended with status 108"},
		"interrupted meanwhile": {left: 30 * time.Millisecond, interrupt: 10 * time.Millisecond, waits: 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, began := t.Context(), time.Now()
				if c.interrupt > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.interrupt)
					defer cancel()
				}
				p := plan.Plan{Stages: []plan.Stage{{Duration: 10 * time.Second}}}
				r := &loading{measuring: &measuring{opened: &opened{plan: p}}, t0: began.Add(c.left - p.Duration()), stopped: c.stopped}
				r.awaitEnd(ctx)
				if waited := time.Since(began); waited != c.waits {
					t.Errorf("waited %s, want %s", waited, c.waits)
				}
			})
		})
	}
}
