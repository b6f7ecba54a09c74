// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"maps"
	"slices"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// table describes rows with the measurements of one second: the columns, followed by the
// load's sessions sampled in each wait class, and the neighbours' likewise.
type table struct {
	clients clients
	columns []column
	known   []bool   // whether the run has any value of each column
	classes []string // wait classes
}

// tableOf lists what the run measured.
func tableOf(r record.Run, judged []record.Span) *table {
	classes := map[string]bool{}
	for _, s := range r.Timeline.Series(metric.DBSession) {
		classes[s.Label("class")] = true
	}
	t := &table{clients: clientsOf(r, judged), columns: slices.Clone(columns), classes: slices.Sorted(maps.Keys(classes))}
	if t.clients.statements != nil {
		t.columns[statementTime].read = t.clients.statementTimes
	}
	for _, neighbours := range []bool{false, true} {
		for _, class := range t.classes {
			// NewSeries would drop an empty value, which selects the series without a class.
			selected := metric.Series{Name: metric.DBSession, Labels: []metric.Label{{Key: "class", Value: class}}}
			t.columns = append(t.columns, column{selected, t.clients.sessions(neighbours)})
		}
	}
	for _, c := range t.columns {
		t.known = append(t.known, c.read == nil || measured(r, c.series))
	}
	return t
}

// class is the column of the i-th wait class.
func (t *table) class(i int) columnIndex { return columnIndex(len(columns) + i) }

// neighbourClass is the column of the neighbours' sessions in the i-th wait class.
func (t *table) neighbourClass(i int) columnIndex { return t.class(len(t.classes) + i) }

// rows reads the seconds of spans.
func (t *table) rows(line *record.Timeline, spans []record.Span) (rows [][]float64) {
	reported := t.reported(line)
	for _, span := range spans {
		first := len(rows)
		for range span.Seconds() {
			rows = append(rows, make([]float64, len(t.columns)))
		}
		for q, c := range t.columns {
			if c.read == nil || !t.known[q] {
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
func (t *table) reported(line *record.Timeline) map[int64]float64 {
	for _, q := range []columnIndex{serviceTime, queryTime, acquireTime, poolTime, serviceCPU} {
		if t.known[q] {
			return line.BySecond(t.columns[q].series.Name, t.columns[q].series.Labels)
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
func (t *table) sum(rows [][]float64) []float64 {
	total := make([]float64, len(t.columns))
	for _, row := range rows {
		for i, v := range row {
			total[i] += v
		}
	}
	return total
}
