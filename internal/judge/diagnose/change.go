// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"math"

	"assay.dev/assay/internal/judge/stats"
)

// Requirements for reporting a change (ours).
const (
	minSide  = 5   // seconds before and after it
	minT     = 4   // its T statistic
	minRatio = 1.5 // smallest ratio of the higher to the lower mean latency
)

// changeWithin describes a change of latency within the judged window, and the component
// that it is in. The change is found in latency alone, without looking at waits
// (docs/waits.md, Attribution). The load is the same before and after, and so does not explain it. Empty:
// no change, several windows, or more than one rate.
func (a *analysis) changeWithin(rows [][]float64) string {
	load := a.run.Plan.Load
	if len(a.spans) != 1 || load.LowestJudged() < load.HighestJudged() {
		return ""
	}
	logs := make([]float64, 0, len(rows))
	for _, row := range rows {
		if row[scheduled] == 0 || row[transactionTime] <= 0 {
			return ""
		}
		logs = append(logs, math.Log(row[transactionTime]/row[scheduled]))
	}
	found, ok := stats.FindChangePoint(logs, minSide)
	if !ok || found.T < minT {
		return ""
	}
	before, after := a.window(a.sum(rows[:found.At])), a.window(a.sum(rows[found.At:]))
	was, is := before.mean(), after.mean()
	if math.Max(was/is, is/was) < minRatio {
		return ""
	}
	text := fmt.Sprintf("Latency changes %d s into the judged window, at the same load: from %s to %s.", found.At, ms(was), ms(is))
	worse, better := after, before
	if is < was {
		worse, better = before, after
	}
	most := -1
	for i := range a.names {
		if grown := worse.parts[i] - better.parts[i]; a.names[i] != ArrivalQueue && (most < 0 || grown > worse.parts[most]-better.parts[most]) {
			most = i
		}
	}
	grown := worse.parts[most] - better.parts[most]
	if grown < minExplained*math.Abs(is-was) {
		return text // in no measured component
	}
	return text + fmt.Sprintf(" %s of the difference is in %s.", ms(grown), a.names[most])
}
