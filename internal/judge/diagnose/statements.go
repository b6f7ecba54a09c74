// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

const (
	topStatements = 10 // reported
	// A statement scans if it examines at least scanRows per call, more than an index
	// lookup does, and takes at least scanShare of all statement time (ours).
	scanRows  = 1000
	scanShare = 0.25
)

// scans reports whether the statement examines far more rows than an index lookup.
func scans(s certificate.Statement) bool {
	return s.Client == "" && s.RowsPerCall != nil && *s.RowsPerCall >= scanRows && s.Share >= scanShare
}

// slower reports whether the statement takes at least twice as long as at the baseline.
func slower(s certificate.Statement) bool {
	return s.BaselineMsPerTransaction == nil || *s.MsPerTransaction >= 2**s.BaselineMsPerTransaction
}

// otherDigest stands for all statements beyond the database's limit of digests.
const otherDigest = "other"

// statements lists the digests that took most time, the largest first; nil: the database
// reported none.
func statements(r record.Run, hold []record.Span) []certificate.Statement {
	base := baseline(r)
	endedHold, endedBase := transactions(r, hold), transactions(r, base)
	total := sumOver(r.Timeline, metric.DBStatementTime, nil, hold)
	if total == 0 || endedHold == 0 {
		return nil
	}
	who := clientsOf(r, hold)
	var all []certificate.Statement
	for _, series := range r.Timeline.Series(metric.DBStatementTime) {
		s := certificate.Statement{Digest: series.Label("digest"), Text: series.Label("statement")}
		time, calls := sumOver(r.Timeline, metric.DBStatementTime, series.Labels, hold), sumOver(r.Timeline, metric.DBStatements, series.Labels, hold)
		counted := measured(r, metric.Series{Name: metric.DBStatements, Labels: series.Labels})
		if time == 0 || counted && calls == 0 || s.Digest == otherDigest {
			continue
		}
		s.Share, s.MsPerTransaction = time/total, new(time/endedHold)
		if counted {
			s.CallsPerTransaction, s.MsPerCall = new(calls/endedHold), new(time/calls)
		}
		if before := sumOver(r.Timeline, metric.DBStatementTime, series.Labels, base); before > 0 && endedBase > 0 {
			s.BaselineMsPerTransaction = new(before / endedBase)
		}
		if counted && len(r.Timeline.Series(metric.DBRowsExamined)) > 0 {
			s.RowsPerCall = new(sumOver(r.Timeline, metric.DBRowsExamined, series.Labels, hold) / calls)
		}
		s.Class, s.Event, s.WaitShare = waitOf(r, s.Digest, hold)
		s.Client = who.runs(r, s.Digest, hold)
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b certificate.Statement) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Digest, b.Digest))
	})
	return all[:min(len(all), topStatements)]
}

// waitOf is the wait in most samples of the sessions of a statement, and their share.
func waitOf(r record.Run, digest string, hold []record.Span) (class, event string, share float64) {
	seen, total, most := map[waitKey]float64{}, 0.0, waitKey{}
	for _, series := range r.Timeline.Series(metric.DBSession) {
		if series.Label("digest") == digest {
			n := sumOver(r.Timeline, metric.DBSession, exactly(series), hold)
			k := waitKey{event: series.Label("event"), class: series.Label("class"), inferred: series.Label("inferred") == "true"}
			seen[k] += n
			total += n
			if seen[k] > seen[most] {
				most = k
			}
		}
	}
	if total == 0 {
		return "", "", 0
	}
	return most.class, most.event, seen[most] / total
}

// sumOver adds up a counter over spans.
func sumOver(line *record.Timeline, name string, selector []metric.Label, spans []record.Span) (total float64) {
	for _, span := range spans {
		n, _ := line.Sum(name, selector, span)
		total += n
	}
	return total
}

// transactions is the number of transactions that ended in the spans. Those that timed out
// count in the second for which they were scheduled, as do all if workers report no ends.
func transactions(r record.Run, spans []record.Span) float64 {
	sum := func(q columnIndex) float64 {
		return sumOver(r.Timeline, columns[q].series.Name, columns[q].series.Labels, spans)
	}
	if !measured(r, columns[ended].series) {
		return sum(scheduled)
	}
	return sum(ended) + sum(timedOut)
}

// mostFrequentSelect is nil if there is no SELECT, or calls were not counted.
func mostFrequentSelect(all []certificate.Statement) (most *certificate.Statement) {
	for i, s := range all {
		if s.Client == "" && s.CallsPerTransaction != nil && strings.HasPrefix(strings.ToUpper(s.Text), "SELECT") && (most == nil || *s.CallsPerTransaction > *most.CallsPerTransaction) {
			most = &all[i]
		}
	}
	return most
}
