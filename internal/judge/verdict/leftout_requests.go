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
// script or the profile expects it.
func excusedResponses(p *part) (all []certificate.Omission) {
	for _, of := range metric.Protocols {
		for _, by := range []string{metric.ByScript, metric.ByProfile} {
			selector := append(label("protocol", of.Name), label("by", by)...)
			n := p.tally(metric.ExcusedRequests, selector).n
			if n == 0 {
				continue
			}
			var statuses []string
			for _, s := range p.Timeline.Series(metric.ExcusedRequests) {
				if status := s.Label("status"); s.Label("protocol") == of.Name && s.Label("by") == by && !slices.Contains(statuses, status) && p.tally(metric.ExcusedRequests, append(label("status", status), selector...)).n > 0 {
					statuses = append(statuses, status)
				}
			}
			slices.SortFunc(statuses, compareStatus)
			all = append(all, certificate.Omission{
				What:     fmt.Sprintf("requests with %s, which the %s expects", statusText(of, statuses), by),
				Requests: &n, Failed: &n, Weighs: p.matters(n),
			})
		}
	}
	return all
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
			all = append(all, fmt.Sprintf("by the profile a request with %s has not failed", statusText(of, statuses)))
		}
	}
	return all
}

// caughtErrors are transactions that completed although something in them had failed that is no
// request: their script has caught the error.
func caughtErrors(p *part) []certificate.Omission {
	n := p.tally(metric.ExcusedTransactions, label("reason", metric.CaughtError)).n
	return []certificate.Omission{{
		What:         "completed transactions in which a statement failed, or the script counted an error, and went on",
		Transactions: &n, Weighs: p.matters(n),
	}}
}

// unheardTransactions are those that completed although no message of a WebSocket was answered.
func unheardTransactions(p *part) []certificate.Omission {
	n := p.tally(metric.ExcusedTransactions, label("reason", metric.NoMessage)).n
	return []certificate.Omission{{
		What:         "completed transactions that sent messages by WebSockets, and received none",
		Transactions: &n, Weighs: p.matters(n),
	}}
}

// silentTransactions are those that completed and sent nothing that is counted: what they did,
// such as to connect, has no result that is judged.
func silentTransactions(p *part) []certificate.Omission {
	n := p.tally(metric.ExcusedTransactions, label("reason", metric.NoRequest)).n
	return []certificate.Omission{{
		What:         "completed transactions without a request or a statement that is counted",
		Transactions: &n, Weighs: p.matters(n),
	}}
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
		What:     "requests outside of transactions, as of setup()",
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
