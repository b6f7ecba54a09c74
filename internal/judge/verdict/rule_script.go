// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/rulebook"
)

// script: what the script fails by itself, and what it does not send, is not the system's. Its
// own errors count as the generator's share: a FAIL does not rest on them, nor a PASS on their
// absence. A transaction that timed out before it sent anything is no error: the rules about the
// generator say whose time it took.
func script(p *part) Rule {
	own, silent := failedByScript(p.evidence), silentIn(p.evidence, metric.Completed)
	r := Rule{Rule: certificate.Rule{
		Observed: new(float64(own + silent)),
		Detail:   "each transaction sent something, and the script threw no error of its own",
	}}
	if n := sentNothing(p.evidence); n > 0 {
		r.Outcome, r.Observed = Invalid, new(float64(n))
		r.Detail = fmt.Sprintf("the script sent nothing in any of %d transactions: no request, no statement, and no attempt to connect", n) + thrown(p.evidence)
		return r
	}
	if own+silent == 0 {
		return r
	}
	r.Detail = ownText(p.evidence, own, silent)
	switch decided := decidedByScript(p, own+silent); {
	case decided != "":
		r.Outcome, r.Detail = Invalid, "the script decides the verdict: "+decided+"; "+r.Detail
	case float64(silent) > rulebook.MaxSilent*float64(p.scheduled.n) && !failed(p):
		r.Outcome = Invalid
	default:
		r.Limitation = r.Detail
	}
	return r
}

// ownText says how many transactions of the judged windows the script failed by itself, or sent
// nothing in, and why.
func ownText(e *evidence, own, silent int64) string {
	var texts []string
	if silent > 0 {
		texts = append(texts, fmt.Sprintf("the script sent nothing in %d of %d transactions, and did not fail", silent, e.scheduled.n))
	}
	if own > 0 {
		texts = append(texts, fmt.Sprintf("the script itself failed %d of %d transactions", own, e.scheduled.n)+thrown(e))
	}
	return strings.Join(texts, "; ")
}

// thrown is the first exception of the script, or what it asked for in vain, after a colon; empty:
// none is known.
func thrown(e *evidence) string {
	if n := misasked(e); n > 0 {
		return fmt.Sprintf(": %d of its requests were invalid, such as a URL without a scheme, and were not sent", n)
	}
	return exception(e)
}

// exception is the first exception of the script, after a colon; empty: none is known.
func exception(e *evidence) string {
	for _, w := range e.Facts.Workers {
		if w.Thrown != "" {
			return ": " + w.Thrown
		}
	}
	return ""
}

// failedByScript counts the transactions of the judged windows that the script itself failed.
func failedByScript(e *evidence) int64 { return e.tally(metric.ScriptFailed, nil).n }

// misasked counts the requests of the judged windows that were not sent, as they were none.
func misasked(e *evidence) int64 {
	return e.tally(metric.ErrorsByClass, label("class", metric.ErrorRequest)).n
}

// silentIn counts the transactions of the judged windows with these outcomes that sent nothing.
func silentIn(e *evidence, outcomes ...string) (n int64) {
	for _, outcome := range outcomes {
		n += e.tally(metric.TransactionsUnsent, label("outcome", outcome)).n
	}
	return n
}

// sentNothing counts the transactions that were started, if none of the whole run sent anything;
// 0: one did. It is not about the judged windows: all VUs may still wait, there, for what was
// sent before.
func sentNothing(e *evidence) int64 {
	scheduled, _ := e.Timeline.Sum(metric.TransactionsScheduled, nil, record.All)
	dropped, _ := e.Timeline.Sum(metric.Transactions, label("outcome", metric.Dropped), record.All)
	silent, _ := e.Timeline.Sum(metric.TransactionsUnsent, nil, record.All)
	if silent <= 0 || silent < scheduled-dropped {
		return 0
	}
	return int64(silent)
}

// decidedByScript says which SLO the script's own errors decide; empty: none.
func decidedByScript(p *part, own int64) string {
	if failed(p) {
		return ""
	}
	for _, s := range p.slos {
		if s.HiddenByGenerator && byScript(p.evidence, s, own) {
			return fmt.Sprintf("%s %s has %d violations, at least %d without the script's own errors, %d allowed",
				s.Metric, s.Expression, s.possibleViolations(), *s.Cleared, *s.Allowed)
		}
	}
	return ""
}

// byScript reports whether the script alone, which failed or delayed so many transactions
// itself, can be why an SLO on these, or on its requests, has fewer violations when cleared of the
// generator's share.
func byScript(e *evidence, s SLO, own int64) bool {
	ofThese := s.Metric == ThroughputMetric || s.Metric == metric.TransactionDuration || s.Metric == metric.Goodput
	if name, _, _ := strings.Cut(s.Metric, "{"); name == metric.HTTP.Failed || name == metric.HTTP.Duration() {
		own, ofThese = misasked(e), true
	}
	return own > 0 && ofThese && s.Doubt == "" && s.Cleared != nil && s.possibleViolations()-*s.Cleared <= own
}

// scriptErrors are the transactions that the script itself failed. They count against a PASS,
// and no FAIL rests on them.
func scriptErrors(p *part) []certificate.Omission {
	return []certificate.Omission{{
		What: "transactions that the script itself failed, on which no FAIL rests", Transactions: new(failedByScript(p.evidence)),
	}}
}
