// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
)

// omission is one way in which a part of a run does not enter a verdict on an SLO.
type omission struct {
	reason string
	of     func(*part) []certificate.Omission // of a flow, or of a run without flows; zeros are dropped
	run    bool                               // of is about the whole run
}

// omissions are all ways in which seconds, transactions, requests, checks, points or excuses do
// not enter a verdict: what is in none of these is judged.
var omissions = []omission{
	{reason: "unjudged-stage", of: unjudgedStages},
	{reason: "recoveries", of: inRecoveries},
	{reason: "foreign-points", of: foreignLeftOut, run: true},
	{reason: "after-the-window", of: endedBadly, run: true},
	{reason: "script-errors", of: scriptErrors},
	{reason: "excused-responses", of: excusedResponses},
	{reason: "caught-errors", of: excusedTransactions(metric.CaughtError, "in which a statement failed, or the script counted an error, and went on")},
	{reason: "no-request", of: excusedTransactions(metric.NoRequest, "without a request or a statement that is counted")},
	{reason: "no-message", of: excusedTransactions(metric.NoMessage, "that sent messages by WebSockets, and received none")},
	{reason: "outside-transactions", of: outsideRequests, run: true},
	{reason: "repeated-acknowledgements", of: repeatedLeftOut},
	{reason: "early-rows", of: earlyLeftOut},
	{reason: "addresses-unreached", of: unreachedAddresses, run: true},
	{reason: "attempts-unknown", of: attemptsUnknown, run: true},
	{reason: "unjudged-latency", of: unjudgedLatency},
	{reason: "unjudged-failures", of: unjudgedFailures},
	{reason: "unjudged-endpoints", of: unjudgedEndpoints},
	{reason: "think-time", of: thinkTime},
	{reason: "script-time", of: scriptTime},
	{reason: "generator-errors", of: generatorErrors},
	{reason: "unjudged-checks", of: unjudgedChecks},
	{reason: "classes-pooled", of: pooledClasses, run: true},
}

// leftOut lists what did not enter a verdict, in the order of the table.
func leftOut(p *part) (all []certificate.Omission) {
	for _, o := range omissions {
		parts := p.perFlow()
		if o.run {
			parts = []*part{p}
		}
		for _, of := range parts {
			for _, found := range o.of(of) {
				if empty(found) {
					continue
				}
				found.Reason = o.reason
				if !o.run {
					found.Flow = of.flow()
				}
				all = append(all, found)
			}
		}
	}
	return all
}

// empty reports whether an omission states numbers, and all of them are 0.
func empty(o certificate.Omission) bool {
	known, some := o.Seconds != nil, o.Seconds != nil && *o.Seconds > 0
	for _, n := range []*int64{o.Transactions, o.Requests, o.Checks, o.Points, o.Failed} {
		known, some = known || n != nil, some || n != nil && *n > 0
	}
	return known && !some
}

// weighingOf are the omissions that could have changed the verdict, in words.
func weighingOf(all []certificate.Omission) (texts []string) {
	for _, o := range all {
		if o.Weighs {
			texts = append(texts, "left out: "+o.String())
		}
	}
	return texts
}

// beyondShare reports whether k of n samples are more than come by chance, once in a thousand times, of
// a share of q: a claim mentions no single slow or failed transaction of a few.
func beyondShare(n, k, q float64) bool { return stats.AtLeast(n, k, q) <= 0.001 }

// foreignLeftOut are the points of other senders beyond what is read of them.
func foreignLeftOut(p *part) []certificate.Omission {
	left := p.Timeline.LeftOut()
	if left.Points <= 0 {
		return nil
	}
	return []certificate.Omission{{
		What:   fmt.Sprintf("points of other senders from second %d of the load on, beyond the number that is read", left.From-p.Facts.T0.Unix()),
		Points: new(int64(left.Points)), // an SLO on them is undecided: see worseAlone
	}}
}
