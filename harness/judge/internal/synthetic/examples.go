package synthetic

import (
	"slices"

	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

// Examples are the records that golden files show, by verdict: "pass", "fail", "lost" (an
// acknowledged write was lost), "invalid".
func Examples() map[string]record.Run {
	slow := func(n int64) (float64, string) {
		switch ms, _ := Healthy(n); {
		case n%40 == 0:
			return 10_000, metric.TimedOut
		case n%100 == 5:
			return ms, metric.Failed
		case n%10 == 3:
			return ms + 400, metric.Completed
		default:
			return ms, metric.Completed
		}
	}
	fail := New(Profile(), 2, slow)

	lost := New(Profile(), 1, Healthy)
	found := lost.Run.Ledger
	found.Missing, found.Persisted = 3, found.Persisted-3
	found.Lags[0] -= 3

	invalid := New(Profile(), 2, Healthy)
	invalid.Run.Facts.Workers[1] = record.Worker{Source: "worker/1", Exit: "signal: killed"}
	invalid.Run.Plan.Tool.Dirty = true
	invalid.Run.Facts.Collectors[0] = record.Collect{Source: "database", State: "failed", Reason: "access denied"}
	invalid.Run.Facts.Ledger, invalid.Run.Ledger = record.LedgerFact{State: "failed", Reason: "table not found"}, nil
	invalid.Frames = slices.DeleteFunc(invalid.Frames, func(f metric.Frame) bool {
		return f.Source == "worker/1" && f.Sequence > 30 || f.Source == metric.SourceDatabase // worker/1 ends in the middle of the hold
	})
	return map[string]record.Run{
		"pass":    New(Profile(), 2, Healthy).Record(),
		"fail":    fail.Record(),
		"lost":    lost.Record(),
		"invalid": invalid.Record(),
	}
}
