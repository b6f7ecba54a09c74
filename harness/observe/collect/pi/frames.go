package pi

import (
	"cmp"
	"slices"
	"strings"

	"assay/harness/observe/collect"
	"assay/harness/observe/collect/sampling"
	"assay/harness/observe/metric"
	"assay/harness/observe/wait"
)

const (
	msPerSecond = 1000.0

	// other labels load that the API does not split any further, and statements above the
	// maximum number of labels.
	other = "other"
	// digits is the length of the label digest, as in the other collectors.
	digits = 16
)

// frames sends one frame per second of [from, to). A published second counts as one sample,
// whose number of sessions is the load: an average, which may be fractional.
func frames(all loads, from, to int64, stream *collect.Stream) {
	split := append(waitParts(all), statementParts(all)...)
	last := from - 1
	for at := from; at < to; at++ {
		points := []metric.Point{metric.GaugePoint(metric.NewSeries(metric.DBSampleRate, ""), 1)}
		_, published := all.total[at]
		if published || at == to-1 {
			// The time since the last sample; at the end also without a new sample.
			var interval metric.Hist
			interval.Record(float64(at-last)*msPerSecond, 1)
			points = append(points, metric.HistPoint(metric.NewSeries(metric.DBSampleInterval, "ms"), &interval))
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
		points = append(points, metric.CounterPoint(metric.NewSeries(metric.DBSample, ""), samples))
		stream.Put(at, points)
	}
}

// waitParts returns the sessions by wait event; the remainder of the total is other.
func waitParts(all loads) []*part {
	split, rest := parts{}, remainderOf(all.total)
	for _, s := range all.waits {
		if len(s.dimensions) == 0 {
			continue
		}
		event, class, inferred := classify(s.dimensions["db.wait_event.name"])
		labels := []string{"event", event, "class", class}
		if inferred {
			labels = append(labels, "inferred", "true")
		}
		split.add(metric.NewSeries(metric.DBSession, "", labels...), s.load, 1)
		rest.subtract(s.load)
	}
	split.add(metric.NewSeries(metric.DBSession, "", "event", other, "class", wait.Other), rest, 1)
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
		text := sampling.Shorten(strings.Join(strings.Fields(s.dimensions["db.sql_tokenized.statement"]), " "))
		split.add(metric.NewSeries(metric.DBStatementTime, "ms", "digest", digest[:min(len(digest), digits)], "statement", text), s.load, msPerSecond)
		rest.subtract(s.load)
	}
	split.add(metric.NewSeries(metric.DBStatementTime, "ms", "digest", other, "statement", ""), rest, msPerSecond)
	return split.sorted()
}

// classify returns the class of a wait event. For an instance without performance_schema
// the API returns session states instead, from which the class is inferred.
func classify(name string) (event, class string, inferred bool) {
	event = strings.TrimPrefix(name, "wait/")
	switch {
	case strings.EqualFold(event, "CPU"):
		return "cpu", wait.CPU, false
	case event == "":
		return other, wait.Other, false
	}
	for _, server := range wait.Servers() {
		if class := wait.ClassOf(server, event); class != wait.Other {
			return event, class, false
		}
	}
	if class, ok := wait.ClassOfState(wait.MySQL, event); ok {
		return event, class, true
	}
	return event, wait.Other, false
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
