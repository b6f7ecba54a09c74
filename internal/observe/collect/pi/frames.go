package pi

import (
	"cmp"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/wait"
)

const msPerSecond = 1000.0

// unknown is load that the API does not split by event.
var unknown = sampling.Session{Event: wait.Other, Class: wait.Other}

// sendFrames sends one frame per second of [from, to). A published second counts as one sample,
// whose number of sessions is the load: an average, which may be fractional.
func sendFrames(all loads, from, to int64, stream *collect.Stream) {
	split := append(waitParts(all), statementParts(all)...)
	last := from - 1
	for at := from; at < to; at++ {
		points := []metric.Point{metric.GaugePoint(metric.Of(metric.DBSampleRate), 1)}
		_, published := all.total[at]
		if published || at == to-1 {
			// The time since the last sample; at the end also without a new sample.
			var interval metric.Hist
			interval.Record(float64(at-last)*msPerSecond, 1)
			points = append(points, metric.HistPoint(metric.Of(metric.DBSampleInterval), &interval))
		}
		samples := 0.0
		if published {
			samples, last = 1, at
			for _, p := range split {
				if v := p.load[at] * p.scale; v > 0 {
					points = append(points, metric.CounterPoint(p.series, v))
				}
			}
		}
		points = append(points, metric.CounterPoint(metric.Of(metric.DBSample), samples))
		stream.Put(at, points)
	}
}

// waitParts returns the sessions by wait event; the remainder of the total is unknown.
func waitParts(all loads) []*part {
	split, rest := parts{}, remainderOf(all.total)
	for _, s := range all.waits {
		if len(s.dimensions) == 0 {
			continue
		}
		split.add(classify(s.dimensions["db.wait_event.name"]).Series(metric.DBSession), s.load, 1)
		rest.subtract(s.load)
	}
	split.add(unknown.Series(metric.DBSession), rest, 1)
	return split.sorted()
}

// statementParts returns the time in statements: a session that is active for one second
// spends that second in its statement.
func statementParts(all loads) []*part {
	if len(all.statements) == 0 {
		return nil
	}
	split, rest := parts{}, remainderOf(all.total)
	for _, s := range byLoad(all.statements) {
		digest := cmp.Or(s.dimensions["db.sql_tokenized.db_id"], s.dimensions["db.sql_tokenized.id"])
		if digest == "" || len(split) >= sampling.MaxDigests {
			continue
		}
		text := sampling.Shorten(database.WithoutLiterals(s.dimensions["db.sql_tokenized.statement"]))
		split.add(metric.Of(metric.DBStatementTime, "digest", digest[:min(len(digest), sampling.DigestDigits)], "statement", text), s.load, msPerSecond)
		rest.subtract(s.load)
	}
	split.add(metric.Of(metric.DBStatementTime, "digest", sampling.Other), rest, msPerSecond)
	return split.sorted()
}

// classify returns the class of a wait event. For an instance without performance_schema
// the API returns session states instead, from which the class is inferred.
func classify(name string) sampling.Session {
	event := strings.TrimPrefix(name, "wait/")
	switch {
	case strings.EqualFold(event, "CPU"):
		return sampling.Session{Event: "cpu", Class: wait.CPU}
	case event == "":
		return unknown
	}
	for _, server := range wait.Servers() {
		if class := wait.ClassOf(server, event); class != wait.Other {
			return sampling.Session{Event: event, Class: class}
		}
	}
	if class, ok := wait.ClassOfState(wait.MySQL, event); ok {
		return sampling.Session{Event: event, Class: class, Inferred: true}
	}
	return sampling.Session{Event: event, Class: wait.Other}
}

// byLoad returns the series sorted by total load, the largest first.
func byLoad(all []series) []series {
	sum := func(s series) (total float64) {
		for _, v := range s.load {
			total += v
		}
		return total
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b series) int { return cmp.Compare(sum(b), sum(a)) })
	return all
}
