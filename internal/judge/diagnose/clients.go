// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"slices"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// Requirements for taking a statement as one of the load's (ours).
const (
	// minCalls is the least number of its executions per transaction at the baseline.
	minCalls = 0.05
	// minFollows is the least ratio of its executions per transaction in the judged windows
	// to those at the baseline: those of the load follow its rate, those of a job that runs
	// by itself do not.
	minFollows = 1.0 / 3
)

// clients divides the clients of the database into the load's, which are the service's
// instances or the workers, and neighbours. A client is the load's if at least half of its
// sampled sessions that have a known statement run statements of the load. The record does
// not name the load's user, and user and host may be the same for all.
type clients struct {
	neighbours []string // in order; nil: all sessions count as the load's
	load       []string // likewise; the empty label stands for unlabelled sessions
	statements []string // digests of the neighbours
}

// clientsOf finds the clients in a record. Without labels of clients or statements, or if
// no client runs the load's statements, all count as the load's.
func clientsOf(r record.Run, hold []record.Span) (c clients) {
	windows := append(slices.Clone(hold), baseline(r)...)
	type tally struct{ load, known float64 }
	seen, ofLoad := map[string]*tally{}, map[string]bool{}
	byDigest := map[string]map[string]float64{} // digest, client: sessions sampled
	for _, s := range r.Timeline.Series(metric.DBSession) {
		client, digest := s.Label("client"), s.Label("digest")
		if seen[client] == nil {
			seen[client] = &tally{}
		}
		if digest == "" || digest == otherDigest {
			continue
		}
		if _, known := ofLoad[digest]; !known {
			ofLoad[digest], byDigest[digest] = statementOfLoad(r, hold, digest), map[string]float64{}
		}
		n := sumOver(r.Timeline, metric.DBSession, exactly(s), windows)
		byDigest[digest][client] += n
		seen[client].known += n
		if ofLoad[digest] {
			seen[client].load += n
		}
	}
	for client, n := range seen {
		if client != "" && n.known > 0 && n.load < n.known/2 {
			c.neighbours = append(c.neighbours, client)
		} else {
			c.load = append(c.load, client)
		}
	}
	if !slices.ContainsFunc(c.load, func(client string) bool { return seen[client].load > 0 }) {
		return clients{}
	}
	slices.Sort(c.neighbours)
	slices.Sort(c.load)
	for digest, sessions := range byDigest {
		all, others := 0.0, 0.0
		for _, client := range slices.Concat(c.load, c.neighbours) {
			all += sessions[client]
			if c.isNeighbour(client) {
				others += sessions[client]
			}
		}
		if others > all/2 {
			c.statements = append(c.statements, digest)
		}
	}
	slices.Sort(c.statements)
	return c
}

// statementOfLoad reports whether a statement is executed as often as transactions end.
func statementOfLoad(r record.Run, hold []record.Span, digest string) bool {
	calls := func(spans []record.Span) float64 {
		n := sumOver(r.Timeline, columns[ended].series.Name, nil, spans)
		if n == 0 {
			return 0
		}
		return sumOver(r.Timeline, metric.DBStatements, []metric.Label{{Key: "digest", Value: digest}}, spans) / n
	}
	now, base := calls(hold), baseline(r)
	if base == nil {
		return now >= minCalls
	}
	before := calls(base)
	return before >= minCalls && now >= minFollows*before
}

// exactly selects the series with the labels of s and no others.
func exactly(s metric.Series) []metric.Label {
	d, _ := metric.Find(s.Name)
	selector := slices.Clone(s.Labels)
	for _, key := range d.Labels {
		if s.Label(key) == "" {
			selector = append(selector, metric.Label{Key: key})
		}
	}
	return selector
}

func (c clients) isNeighbour(client string) bool { return slices.Contains(c.neighbours, client) }

// neighbour is the label of a client if it is a neighbour; else empty.
func (c clients) neighbour(client string) string {
	if c.isNeighbour(client) {
		return client
	}
	return ""
}

// sessions reads the sessions of a class of the load's clients, or of neighbours.
func (c clients) sessions(neighbours bool) func(*record.Timeline, metric.Series, record.Span) []float64 {
	if c.neighbours == nil {
		if neighbours {
			return nil
		}
		return counts
	}
	of := c.load
	if neighbours {
		of = c.neighbours
	}
	return func(line *record.Timeline, s metric.Series, span record.Span) []float64 {
		total := make([]float64, span.Seconds())
		for _, client := range of {
			for i, n := range line.Counts(s.Name, append(slices.Clone(s.Labels), metric.Label{Key: "client", Value: client}), span) {
				total[i] += n
			}
		}
		return total
	}
}

// statementTimes reads the counted time of statements, without those of neighbours.
func (c clients) statementTimes(line *record.Timeline, s metric.Series, span record.Span) []float64 {
	total := counts(line, s, span)
	for _, digest := range c.statements {
		for i, ms := range line.Counts(s.Name, []metric.Label{{Key: "digest", Value: digest}}, span) {
			total[i] = max(0, total[i]-ms)
		}
	}
	return total
}

// runs is the neighbour that runs a statement most; empty: the load runs it.
func (c clients) runs(r record.Run, digest string, hold []record.Span) (client string) {
	if !slices.Contains(c.statements, digest) {
		return ""
	}
	most := 0.0
	for _, neighbour := range c.neighbours {
		selector := []metric.Label{{Key: "digest", Value: digest}, {Key: "client", Value: neighbour}}
		if n := sumOver(r.Timeline, metric.DBSession, selector, hold); n > most {
			client, most = neighbour, n
		}
	}
	return client
}
