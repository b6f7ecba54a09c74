// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"maps"
	"slices"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// measure lists what the run measured: in each second the columns, followed by the load's
// sessions sampled in each wait class, and the neighbours' likewise.
func (l *layout) measure(r record.Run, judged []record.Span) {
	classes := map[string]bool{}
	for _, s := range r.Timeline.Series(metric.DBSession) {
		classes[s.Label("class")] = true
	}
	l.clients, l.columns, l.classes = clientsOf(r, judged), slices.Clone(columns), slices.Sorted(maps.Keys(classes))
	if l.clients.statements != nil {
		l.columns[statementTime].read = l.clients.statementTimes
	}
	for _, neighbours := range []bool{false, true} {
		for _, class := range l.classes {
			// NewSeries would drop an empty value, which selects the series without a class.
			selected := metric.Series{Name: metric.DBSession, Labels: []metric.Label{{Key: "class", Value: class}}}
			l.columns = append(l.columns, column{selected, l.clients.sessions(neighbours)})
		}
	}
	for _, c := range l.columns {
		l.known = append(l.known, c.read == nil || measured(r, c.series))
	}
}

// class is the column of the i-th wait class.
func (l *layout) class(i int) columnIndex { return columnIndex(len(columns) + i) }

// neighbourClass is the column of the neighbours' sessions in the i-th wait class.
func (l *layout) neighbourClass(i int) columnIndex { return l.class(len(l.classes) + i) }

// rows reads the seconds of spans.
func (l *layout) rows(line *record.Timeline, spans []record.Span) (rows [][]float64) {
	reported := l.reported(line)
	for _, span := range spans {
		first := len(rows)
		for range span.Seconds() {
			rows = append(rows, make([]float64, len(l.columns)))
		}
		for q, c := range l.columns {
			if c.read == nil || !l.known[q] {
				continue
			}
			for i, v := range c.read(line, c.series, span) {
				rows[first+i][q] = v
			}
		}
		for i, row := range rows[first:] {
			row[seconds] = 1
			if _, ok := reported[span.From+int64(i)]; ok {
				row[serviceSeen] = 1
			}
			if row[samples] > 0 {
				row[databaseSeen] = 1
			}
		}
	}
	return rows
}

// reported are the seconds in which the service reported metrics.
func (l *layout) reported(line *record.Timeline) map[int64]float64 {
	for _, q := range []columnIndex{serviceTime, queryTime, acquireTime, poolTime, serviceCPU} {
		if l.known[q] {
			return line.BySecond(l.columns[q].series.Name, l.columns[q].series.Labels)
		}
	}
	return nil
}

// fillGaps fills the gaps of a gauge with the preceding value, and those at the start with
// the first value: a gauge does not drop to 0 because it was not read.
func fillGaps(values []float64, ok []bool) []float64 {
	last := slices.Index(ok, true)
	if last < 0 {
		return values
	}
	for i := range values {
		if ok[i] {
			last = i
		}
		values[i] = values[last]
	}
	return values
}

// sum adds rows up.
func (l *layout) sum(rows [][]float64) []float64 {
	total := make([]float64, len(l.columns))
	for _, row := range rows {
		for i, v := range row {
			total[i] += v
		}
	}
	return total
}
