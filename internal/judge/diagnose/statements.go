// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// Statement is one digest of the load's SQL in the judged windows.
type Statement struct {
	Digest, Text string
	Share        float64  // of all statement time (0,1]
	Ms           float64  // per transaction
	BaselineMs   *float64 // nil: no baseline, or it did not run there
	Calls        *float64 // per transaction; nil: not reported
	MsPerCall    *float64 // nil: not reported
	RowsPerCall  *float64 // rows examined, whether they matched or not; nil: unknown
	// Class and Event are the wait in most samples of its sessions, WaitShare the share of
	// these samples; empty: its sessions were not sampled.
	Class, Event string
	WaitShare    float64
	Client       string // the neighbour that runs it; empty: the load
}

const (
	topStatements = 10 // reported
	// A statement scans if it examines at least scanRows per call, more than an index
	// lookup does, and takes at least scanShare of all statement time (ours).
	scanRows  = 1000
	scanShare = 0.25
)

// scans reports whether the statement examines far more rows than an index lookup.
func (s Statement) scans() bool {
	return s.Client == "" && s.RowsPerCall != nil && *s.RowsPerCall >= scanRows && s.Share >= scanShare
}

// slower reports whether the statement takes at least twice as long as at the baseline.
func (s Statement) slower() bool { return s.BaselineMs == nil || s.Ms >= 2**s.BaselineMs }

// otherDigest stands for all statements beyond the database's limit of digests.
const otherDigest = "other"

// statements lists the digests that took most time, the largest first; nil: the database
// reported none.
func statements(r record.Run, hold []record.Span) []Statement {
	base := baseline(r)
	endedHold, endedBase := transactions(r, hold), transactions(r, base)
	total := sumOver(r, metric.DBStatementTime, nil, hold)
	if total == 0 || endedHold == 0 {
		return nil
	}
	who := clientsOf(r, hold)
	var all []Statement
	for _, series := range r.Timeline.Series(metric.DBStatementTime) {
		s := Statement{Digest: series.Label("digest"), Text: series.Label("statement")}
		time, calls := sumOver(r, metric.DBStatementTime, series.Labels, hold), sumOver(r, metric.DBStatements, series.Labels, hold)
		counted := measured(r, metric.Series{Name: metric.DBStatements, Labels: series.Labels})
		if time == 0 || counted && calls == 0 || s.Digest == otherDigest {
			continue
		}
		s.Share, s.Ms = time/total, time/endedHold
		if counted {
			each, per := calls/endedHold, time/calls
			s.Calls, s.MsPerCall = &each, &per
		}
		if before := sumOver(r, metric.DBStatementTime, series.Labels, base); before > 0 && endedBase > 0 {
			before /= endedBase
			s.BaselineMs = &before
		}
		if counted && len(r.Timeline.Series(metric.DBRowsExamined)) > 0 {
			rows := sumOver(r, metric.DBRowsExamined, series.Labels, hold) / calls
			s.RowsPerCall = &rows
		}
		s.waits(r, hold)
		s.Client = who.runs(r, s.Digest, hold)
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Statement) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Digest, b.Digest))
	})
	return all[:min(len(all), topStatements)]
}

// waits sets the wait in most samples of the statement's sessions.
func (s *Statement) waits(r record.Run, hold []record.Span) {
	seen, total, most := map[waitKey]float64{}, 0.0, waitKey{}
	for _, series := range r.Timeline.Series(metric.DBSession) {
		if series.Label("digest") == s.Digest {
			n := sumOver(r, metric.DBSession, exactly(series), hold)
			k := waitKey{event: series.Label("event"), class: series.Label("class"), inferred: series.Label("inferred") == "true"}
			seen[k] += n
			total += n
			if seen[k] > seen[most] {
				most = k
			}
		}
	}
	if total > 0 {
		s.Class, s.Event, s.WaitShare = most.class, most.event, seen[most]/total
	}
}

// sumOver adds up a counter over spans.
func sumOver(r record.Run, name string, selector []metric.Label, spans []record.Span) (total float64) {
	for _, span := range spans {
		n, _ := r.Timeline.Sum(name, selector, span)
		total += n
	}
	return total
}

// transactions is the number of transactions that ended in the spans. Those that timed out
// count in the second for which they were scheduled, as do all if workers report no ends.
func transactions(r record.Run, spans []record.Span) float64 {
	sum := func(q columnIndex) float64 {
		return sumOver(r, columns[q].series.Name, columns[q].series.Labels, spans)
	}
	if !measured(r, columns[ended].series) {
		return sum(scheduled)
	}
	return sum(ended) + sum(timedOut)
}

// mostFrequentSelect is nil if there is no SELECT, or calls were not counted.
func mostFrequentSelect(all []Statement) (most *Statement) {
	for i, s := range all {
		if s.Client == "" && s.Calls != nil && strings.HasPrefix(strings.ToUpper(s.Text), "SELECT") && (most == nil || *s.Calls > *most.Calls) {
			most = &all[i]
		}
	}
	return most
}
