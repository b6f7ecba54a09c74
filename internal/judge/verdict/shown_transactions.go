// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// How many transactions are listed (ours): enough to see what the slow and the failed ones
// have in common, and no more than a person looks up.
const (
	slowestListed    = 10
	sampledListed    = 3 // slowest ones whose traces are sampled
	listedPerReason  = 3
	transactionsMost = 50
)

// describeTransactions lists transactions of the judged windows, or of the whole run if it had
// none, the slowest first: the slowest ones, and examples of each outcome, violated SLO and
// class of errors, spread over time. Those that sent no marked request are not known.
func describeTransactions(e *evidence) (all []Transaction) {
	candidates := exemplars(e)
	slices.SortStableFunc(candidates, func(a, b record.Exemplar) int { return cmp.Compare(b.Value, a.Value) })
	var known []Transaction
	for i, c := range candidates {
		// Most of a thousand workers are the slowest of an unremarkable second.
		if i < slowestListed || len(c.Labels) > 0 || e.Rejudged != nil {
			known = append(known, transactionOf(e, c))
		}
	}
	for _, i := range choose(known) {
		all = append(all, known[i])
	}
	return all
}

// exemplars are those of transactions, each once, by time.
func exemplars(e *evidence) (all []record.Exemplar) {
	for _, span := range e.spans {
		all = append(all, e.Timeline.Exemplars(metric.TransactionDuration, span)...)
	}
	if len(all) == 0 {
		all = e.Timeline.Exemplars(metric.TransactionDuration, record.All)
	}
	type identity struct {
		trace [16]byte
		nanos int64
	}
	var each []record.Exemplar
	seen := map[identity]bool{}
	for _, x := range all {
		if id := (identity{x.TraceID, x.Nanos}); !seen[id] {
			seen[id] = true
			each = append(each, x)
		}
	}
	return each
}

func transactionOf(e *evidence, x record.Exemplar) Transaction {
	t := Transaction{
		TraceID: hex.EncodeToString(x.TraceID[:]), Scenario: x.Series.Label("scenario"), Scheduled: time.Unix(0, x.Nanos).UTC(),
		LatencyMs: x.Value, Outcome: cmp.Or(x.Label(metric.ExemplarOutcome), metric.Completed), Error: x.Label(metric.ExemplarError), Sampled: x.Label(metric.ExemplarSampled) == "true",
	}
	recorded := x.Violates()
	for _, s := range e.Plan.Profile.AllSLOs() {
		if s.Flow != "" && s.Flow != t.Scenario {
			continue
		}
		// Other thresholds than the run's own are not in the record.
		violates := e.Rejudged != nil && s.OfTransactions() && (t.Outcome != metric.Completed || s.Violates(x.Value))
		if violates || slices.Contains(recorded, s.ID()) {
			t.Violates = append(t.Violates, s.MetricText()+" "+s.Expression)
		}
	}
	return t
}

// reasons are why a transaction is listed although it is not one of the slowest.
func reasons(t Transaction) (all []string) {
	if t.Outcome != metric.Completed {
		all = append(all, "outcome "+t.Outcome)
	}
	for _, slo := range t.Violates { // which one that did not complete does for another reason
		all = append(all, t.Outcome+" slo "+slo)
	}
	if t.Error != "" {
		all = append(all, "error "+t.Error)
	}
	for i := range all {
		all[i] = t.Scenario + " " + all[i]
	}
	return all
}

// choose returns the indexes of those to be listed, in order. The slowest come first.
func choose(all []Transaction) []int {
	chosen := map[int]bool{}
	count, by := map[string]int{}, map[string][]int{} // chosen ones, and all, by reason
	for i, t := range all {
		for _, r := range reasons(t) {
			by[r] = append(by[r], i)
		}
	}
	add := func(i int) {
		if chosen[i] || len(chosen) == transactionsMost {
			return
		}
		chosen[i] = true
		for _, r := range reasons(all[i]) {
			count[r]++
		}
	}
	sampled := 0
	for i, t := range all {
		if i < slowestListed {
			add(i)
		}
		if t.Sampled && sampled < sampledListed {
			add(i)
			sampled++
		}
	}
	for _, r := range slices.Sorted(maps.Keys(by)) {
		rest := slices.DeleteFunc(by[r], func(i int) bool { return chosen[i] })
		slices.SortFunc(rest, func(a, b int) int { return cmp.Or(all[a].Scheduled.Compare(all[b].Scheduled), cmp.Compare(a, b)) })
		for _, i := range spread(rest, listedPerReason-count[r]) {
			add(i)
		}
	}
	return slices.Sorted(maps.Keys(chosen))
}

// spread picks n of a list at equal distances, or all if there are no more.
func spread(all []int, n int) (picked []int) {
	if n <= 0 {
		return nil
	}
	if len(all) <= n {
		return all
	}
	for k := range n {
		picked = append(picked, all[(2*k+1)*len(all)/(2*n)])
	}
	return picked
}
