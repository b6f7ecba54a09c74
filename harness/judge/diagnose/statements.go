package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

// Statement is one digest of the load's SQL in the judged windows.
type Statement struct {
	Digest, Text string
	Share        float64  // of all statement time (0,1]
	Ms           float64  // a transaction spends in it
	BaselineMs   *float64 // nil: no baseline, or it did not run there
	Calls        *float64 // a transaction makes; nil: not reported, as of MsPerCall
	MsPerCall    *float64
	RowsPerCall  *float64 // rows examined, whether they matched or not; nil: not known
	// The wait that most samples of its sessions showed, and in what share of
	// them; empty: its sessions were not sampled.
	Class, Event string
	WaitShare    float64
}

const (
	// topStatements are reported.
	topStatements = 10
	// scanRows a call are more than a look-up by an index examines, and from
	// scanShare of all statement time on it matters (ours).
	scanRows  = 1000
	scanShare = 0.25
)

// scans: the statement examines far more rows than a look-up by an index does.
func (s Statement) scans() bool {
	return s.RowsPerCall != nil && *s.RowsPerCall >= scanRows && s.Share >= scanShare
}

// slower: the statement takes twice as long as at the baseline.
func (s Statement) slower() bool { return s.BaselineMs == nil || s.Ms >= 2**s.BaselineMs }

// otherDigest is the database's digest of all statements beyond its limit.
const otherDigest = "other"

// statements are the digests that took most time, the largest first; nil where
// the database reported none.
func statements(r record.Run, hold []record.Span) []Statement {
	base := baseline(r)
	endedHold, endedBase := transactions(r, hold), transactions(r, base)
	total := over(r, metric.DBStatementTime, nil, hold)
	if total == 0 || endedHold == 0 {
		return nil
	}
	var all []Statement
	for _, series := range r.Timeline.Series(metric.DBStatementTime) {
		s := Statement{Digest: series.Label("digest"), Text: series.Label("statement")}
		time, calls := over(r, metric.DBStatementTime, series.Labels, hold), over(r, metric.DBStatements, series.Labels, hold)
		counted := measured(r, metric.Series{Name: metric.DBStatements, Labels: series.Labels})
		if time == 0 || counted && calls == 0 || s.Digest == otherDigest {
			continue
		}
		s.Share, s.Ms = time/total, time/endedHold
		if counted {
			each, per := calls/endedHold, time/calls
			s.Calls, s.MsPerCall = &each, &per
		}
		if before := over(r, metric.DBStatementTime, series.Labels, base); before > 0 && endedBase > 0 {
			before /= endedBase
			s.BaselineMs = &before
		}
		if counted && len(r.Timeline.Series(metric.DBRowsExamined)) > 0 {
			rows := over(r, metric.DBRowsExamined, series.Labels, hold) / calls
			s.RowsPerCall = &rows
		}
		s.waits(r, hold)
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Statement) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Digest, b.Digest))
	})
	return all[:min(len(all), topStatements)]
}

// waits finds the wait that most samples of the statement's sessions showed.
func (s *Statement) waits(r record.Run, hold []record.Span) {
	seen, total, most := map[kind]float64{}, 0.0, kind{}
	for _, series := range r.Timeline.Series(metric.DBSession) {
		if series.Label("digest") == s.Digest {
			n := over(r, metric.DBSession, series.Labels, hold)
			k := kind{series.Label("event"), series.Label("class"), series.Label("inferred") == "true"}
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

func over(r record.Run, name string, selector []metric.Label, spans []record.Span) (total float64) {
	for _, span := range spans {
		n, _ := r.Timeline.Sum(name, selector, span)
		total += n
	}
	return total
}

// transactions is how many ended in some spans; those that timed out count by
// the second they were due in. Where workers do not report ends, all do.
func transactions(r record.Run, spans []record.Span) float64 {
	of := func(q columnIndex) float64 { return over(r, columns[q].series.Name, columns[q].series.Labels, spans) }
	if !measured(r, columns[ended].series) {
		return of(scheduled)
	}
	return of(ended) + of(timedOut)
}

// mostFrequentSelect is nil where there is none, or calls were not counted.
func mostFrequentSelect(all []Statement) (most *Statement) {
	for i, s := range all {
		if s.Calls != nil && strings.HasPrefix(strings.ToUpper(s.Text), "SELECT") && (most == nil || *s.Calls > *most.Calls) {
			most = &all[i]
		}
	}
	return most
}
