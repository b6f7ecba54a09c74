//go:build live

package gateway

import (
	"slices"
	"testing"
	"time"

	"assay.dev/assay/internal/testing/budget"
)

// A call without an answer within the patience is sent again.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	b := newBank(t, "", 0, 0, 200)
	g, calls := over(t, b, func(c *Config) { c.Retries, c.Patience = 2, 3*time.Second })
	answer, err := g.Charge(t.Context(), "card", "p")
	if err != nil || answer.Outcome != Confirmed || len(b.seen()) != 3 {
		t.Errorf("%+v, %v, %d requests", answer, err, len(b.seen()))
	}
	var got []Outcome
	for _, call := range *calls {
		got = append(got, call.Outcome)
	}
	if !slices.Equal(got, []Outcome{TimedOut, TimedOut, Confirmed}) {
		t.Errorf("observed %v", got)
	}
}
