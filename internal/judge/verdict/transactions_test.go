package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

var someTransactions = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Transaction {
	x := Transaction{
		LatencyMs: float64(rapid.IntRange(1, 1000).Draw(t, "ms")), Scheduled: time.Unix(rapid.Int64Range(0, 600).Draw(t, "second"), 0),
		Outcome: rapid.SampledFrom(metric.Outcomes[:3]).Draw(t, "outcome"), Sampled: rapid.Bool().Draw(t, "sampled"),
		Violates: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a p(95)<1", "b max<2"}), 0, 2, rapid.ID).Draw(t, "violates"),
	}
	if x.Outcome != metric.Completed {
		x.Error = fmt.Sprint("class ", rapid.IntRange(0, 30).Draw(t, "class"))
	}
	return x
}), 0, 300)

// Whatever was kept, few are listed: the slowest, and three of each reason, or all there are.
func TestListedTransactions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := someTransactions.Draw(t, "transactions")
		slices.SortStableFunc(all, func(a, b Transaction) int { return int(b.LatencyMs - a.LatencyMs) })
		chosen := choose(all)
		if len(chosen) > transactionsMost || !slices.IsSorted(chosen) || len(slices.Compact(slices.Clone(chosen))) != len(chosen) {
			t.Fatalf("chosen %v", chosen)
		}
		for i := range min(slowestListed, len(all)) {
			if chosen[i] != i {
				t.Fatalf("the slowest are not listed first: %v", chosen)
			}
		}
		there, listed := map[string]int{}, map[string]int{}
		for i, x := range all {
			for _, r := range reasons(x) {
				if there[r]++; slices.Contains(chosen, i) {
					listed[r]++
				}
			}
		}
		for r, n := range there {
			if len(chosen) < transactionsMost && listed[r] < min(n, listedPerReason) {
				t.Fatalf("%d of %d are listed for %s", listed[r], n, r)
			}
		}
	})
}

func TestSpread(t *testing.T) {
	all := make([]int, 100)
	for i := range all {
		all[i] = i
	}
	for n, want := range map[int]string{-1: "[]", 0: "[]", 1: "[50]", 3: "[16 50 83]", 100: fmt.Sprint(all), 200: fmt.Sprint(all)} {
		if got := fmt.Sprint(spread(all, n)); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// A record that is judged by other thresholds names the transactions that violate those.
func TestTransactionsUnderOtherThresholds(t *testing.T) {
	r := synthetic.Examples()["fail"]
	violating := func(slo string) (n int) {
		for _, x := range Judge(r).Transactions {
			for _, v := range x.Violates {
				if v == slo {
					n++
				}
				if !strings.HasPrefix(v, "transaction_duration p(95)<") && v != "transaction_duration max<2000" {
					t.Errorf("violates %s", v)
				}
			}
		}
		return n
	}
	if n := violating("transaction_duration p(95)<250"); n == 0 {
		t.Error("no transaction violates the run's own SLO")
	}
	r.Rejudged = &record.Digest{Path: "strict.json"}
	r.Plan.Profile.Flows[0].SLOs = []spec.SLO{synthetic.Percentile(metric.TransactionDuration, 95, 50)}
	v := Judge(r)
	for _, x := range v.Transactions {
		if want := x.Outcome != metric.Completed || x.LatencyMs >= 50; want != slices.Equal(x.Violates, []string{"transaction_duration p(95)<50"}) {
			t.Errorf("%+v", x)
		}
	}
	if len(v.Transactions) == 0 {
		t.Error("none is listed")
	}
}

// The transactions of a run without a judged window are those of all seconds; those of a
// run with one are of that window.
func TestTransactionsOfTheJudgedWindow(t *testing.T) {
	r := synthetic.Examples()["fail"]
	window := record.SpanOf(r.Facts.T0, r.Plan.Load.Judged[0])
	for _, x := range Judge(r).Transactions {
		if s := x.Scheduled.Unix(); s < window.From || s >= window.To {
			t.Errorf("%s was scheduled outside of the window", x.TraceID)
		}
	}
	r.Facts.Ended = r.Facts.T0.Add(time.Second)
	r.Facts.Stopped = "interrupted"
	r.Plan.Load.Judged = nil
	if all := Judge(r).Transactions; len(all) == 0 || all[0].Outcome != metric.TimedOut {
		t.Errorf("without a window %v", all)
	}
}
