package diagnose

import (
	"fmt"
	"math"

	"assay/harness/judge/stats"
)

const (
	// leastSide is the least number of seconds before and after a change.
	leastSide = 5
	// leastT is the least T of a change that is reported, and leastRatio the least
	// ratio of the latencies (ours).
	leastT     = 4
	leastRatio = 1.5
)

// changeWithin describes a change of latency within a judged window, and which
// component it was in: found in latency alone, without the waits (WAITS section
// 6). The load before and after it is the same, so that the load does not explain
// it. Empty where there is none, or the load is not one rate.
func (a *analysis) changeWithin(rows [][]float64) string {
	load := a.run.Plan.Load
	if len(a.spans) != 1 || load.LowestJudged() < load.Target {
		return ""
	}
	logs := make([]float64, 0, len(rows))
	for _, row := range rows {
		if row[scheduled] == 0 || row[transactionTime] <= 0 {
			return ""
		}
		logs = append(logs, math.Log(row[transactionTime]/row[scheduled]))
	}
	found, ok := stats.FindChangePoint(logs, leastSide)
	if !ok || found.T < leastT {
		return ""
	}
	before, after := a.window(a.sum(rows[:found.At])), a.window(a.sum(rows[found.At:]))
	was, is := before.mean(), after.mean()
	if math.Max(was/is, is/was) < leastRatio {
		return ""
	}
	text := fmt.Sprintf("Latency changes %d s into the judged window, at the same load: from %s to %s.", found.At, ms(was), ms(is))
	worse, better := after, before
	if is < was {
		worse, better = before, after
	}
	most := -1
	for i := range a.names {
		if grown := worse.parts[i] - better.parts[i]; a.names[i] != Queue && (most < 0 || grown > worse.parts[most]-better.parts[most]) {
			most = i
		}
	}
	grown := worse.parts[most] - better.parts[most]
	if grown < explained*math.Abs(is-was) {
		return text // in no measured component
	}
	return text + fmt.Sprintf(" %s of the difference are in %s.", ms(grown), a.names[most])
}
