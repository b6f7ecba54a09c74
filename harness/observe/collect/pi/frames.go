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
	second = 1000.0 // ms

	// other is the label of the load that the API does not split any further, and of
	// members beyond a frame's bound.
	other = "other"
	// digits is the length of the label digest, as in the other collectors.
	digits = 16
)

// frames sends one frame for each second of [from, to). A second that was
// published is one sample; its sessions are the load, which is an average and
// need not be whole.
func frames(all loads, from, to int64, stream *collect.Stream) {
	split := append(waitParts(all), statementParts(all)...)
	last := from - 1
	for at := from; at < to; at++ {
		points := []metric.Point{metric.GaugePoint(metric.NewSeries(metric.DBSampleRate, ""), 1)}
		_, there := all.total[at]
		if there || at == to-1 {
			// The gap before a sample, or at the end without one.
			var interval metric.Hist
			interval.Record(float64(at-last)*second, 1)
			points = append(points, metric.HistPoint(metric.NewSeries(metric.DBSampleInterval, "ms"), &interval))
		}
		samples := 0.0
		if there {
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

// waitParts are the sessions by wait event; the remainder of the whole is other.
func waitParts(all loads) []*part {
	join, left := parts{}, restOf(all.total)
	for _, s := range all.waits {
		if len(s.dimensions) == 0 {
			continue
		}
		event, class, inferred := classify(s.dimensions["db.wait_event.name"])
		labels := []string{"event", event, "class", class}
		if inferred {
			labels = append(labels, "inferred", "true")
		}
		join.add(metric.NewSeries(metric.DBSession, "", labels...), s.load, 1)
		left.take(s.load)
	}
	join.add(metric.NewSeries(metric.DBSession, "", "event", other, "class", wait.Other), left, 1)
	return join.sorted()
}

// statementParts are the time in statements: a session that is active for a
// second spends one in its statement.
func statementParts(all loads) []*part {
	if len(all.statements) == 0 {
		return nil
	}
	join, left := parts{}, restOf(all.total)
	for _, s := range byLoad(all.statements) {
		digest := cmp.Or(s.dimensions["db.sql_tokenized.db_id"], s.dimensions["db.sql_tokenized.id"])
		if digest == "" || len(join) >= sampling.MaxDigests {
			continue
		}
		text := sampling.Shorten(strings.Join(strings.Fields(s.dimensions["db.sql_tokenized.statement"]), " "))
		join.add(metric.NewSeries(metric.DBStatementTime, "ms", "digest", digest[:min(len(digest), digits)], "statement", text), s.load, second)
		left.take(s.load)
	}
	join.add(metric.NewSeries(metric.DBStatementTime, "ms", "digest", other, "statement", ""), left, second)
	return join.sorted()
}

// classify finds the class of a wait event. Where an instance has no
// performance_schema the API returns states of sessions instead, from which the class
// is inferred.
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

// byLoad sorts series by their load, the largest first.
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
