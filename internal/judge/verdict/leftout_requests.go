// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// excusedResponses are requests with a status that is a failure, which have not failed as the
// script or the profile expects it. An answer that the profile expects, such as a 404, belongs to
// the conditions of the claim, and does not weigh; a failure of the server does.
func excusedResponses(p *part) (all []certificate.Omission) {
	for _, of := range metric.Protocols {
		for _, by := range []string{metric.ByScript, metric.ByProfile} {
			var n, weighing int64
			var statuses []string
			for status, count := range p.excused(of, by) {
				n += count
				statuses = append(statuses, status)
				if by == metric.ByScript || of.Fails(status) {
					weighing += count
				}
			}
			if n == 0 {
				continue
			}
			slices.SortFunc(statuses, compareStatus)
			all = append(all, certificate.Omission{
				What:     fmt.Sprintf("requests with %s, which the %s expects", statusText(of, statuses), by),
				Requests: &n, Weighs: p.matters(weighing),
			})
		}
	}
	return all
}

// excused are the requests of a protocol that an excuse of this kind covers, by status.
func (p *part) excused(of *metric.Protocol, by string) map[string]int64 {
	byStatus := map[string]int64{}
	for _, s := range p.Timeline.Series(metric.ExcusedRequests) {
		status := s.Label("status")
		selector := append(label("protocol", of.Name), append(label("by", by), label("status", status)...)...)
		if n := p.tally(metric.ExcusedRequests, selector).n; n > 0 {
			byStatus[status] = n
		}
	}
	return byStatus
}

// compareStatus orders statuses by their number.
func compareStatus(a, b string) int {
	number := func(status string) int { n, _ := strconv.Atoi(status); return n }
	return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
}

// maxStatuses bounds the statuses that are named.
const maxStatuses = 5

// statusText names the statuses of requests of a protocol: "HTTP no answer, 503".
func statusText(of *metric.Protocol, statuses []string) string {
	text := of.Name
	for i, status := range statuses {
		if of != metric.GRPC && (status == "0" || status == "") {
			status = "no answer"
		}
		switch {
		case i == maxStatuses:
			return text + ", ..."
		case i > 0:
			text += ","
		}
		text += " " + status
	}
	return text
}

// expectedStatuses are the statuses that the profile declares to be no failures.
func expectedStatuses(p *part) (all []string) {
	for _, of := range metric.Protocols {
		var statuses []string
		for _, n := range p.Plan.Profile.Expected().Of(of) {
			statuses = append(statuses, strconv.Itoa(n))
		}
		if slices.SortFunc(statuses, compareStatus); len(statuses) > 0 {
			all = append(all, fmt.Sprintf("the profile expects %s: such a request has not failed", statusText(of, statuses)))
		}
	}
	return all
}

// excusedTransactions are those that completed although, for this reason, it may not be as it should
// be: what they did has failed, or has no result that is judged.
func excusedTransactions(reason, what string) func(*part) []certificate.Omission {
	return func(p *part) []certificate.Omission {
		n := p.tally(metric.ExcusedTransactions, label("reason", reason)).n
		return []certificate.Omission{{What: "completed transactions " + what, Transactions: &n, Weighs: p.matters(n)}}
	}
}

// outsideRequests are requests of no transaction, such as those of setup(). During the load a
// script has none, unless it removes the tag by which they are known.
func outsideRequests(p *part) []certificate.Omission {
	sum := func(outcome string) int64 {
		n, _ := p.Timeline.Sum(metric.OutsideRequests, label("outcome", outcome), record.All)
		return int64(n)
	}
	failed := sum(metric.Failed)
	n := sum(metric.Completed) + failed
	return []certificate.Omission{{
		What:     "requests outside of transactions, such as those of setup()",
		Requests: &n, Failed: &failed, Weighs: p.tally(metric.OutsideRequests, label("outcome", metric.Failed)).n > 0,
	}}
}

// matters reports whether the verdict could be another one if so many transactions more had
// failed: it is more than the smallest share that an SLO allows, of those that were scheduled.
func (p *part) matters(n int64) bool {
	allowed := 1 - minThroughput
	for _, s := range p.Plan.Profile.WholeSLOs() {
		switch {
		case s.Kind() != spec.KindSamples:
		case s.Aggregate == spec.Percentile:
			allowed = min(allowed, 1-s.Quantile)
		case s.Aggregate == spec.Rate && metric.IsRequestFailed(s.Metric):
			allowed = min(allowed, s.Bound)
		}
	}
	return n > 0 && float64(n) > allowed*float64(p.scheduled.n)
}
