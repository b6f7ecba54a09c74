package diagnose

import (
	"fmt"
	"math"

	"assay/harness/judge/stats"
)

const (
	// settled is the least number of seconds before and after a change.
	settled = 5
	// surely is the least T of a change that is told, and much the least ratio of
	// latencies (ours).
	surely = 4
	much   = 1.5
)

// change tells of a judged window in the middle of which latency changed, and
// which component that was: found in latency alone, without a look at the waits
// (WAITS section 6). The load on both sides is the same, so that what grew did
// not grow with it. Empty where there is none, or the load is not one rate.
func (e *examination) change(rows [][]float64) string {
	load := e.run.Plan.Load
	if len(e.spans) != 1 || load.LowestJudged() < load.Target {
		return ""
	}
	logs := make([]float64, 0, len(rows))
	for _, row := range rows {
		if row[scheduled] == 0 || row[transactionTime] <= 0 {
			return ""
		}
		logs = append(logs, math.Log(row[transactionTime]/row[scheduled]))
	}
	found, ok := stats.ChangeOf(logs, settled)
	if !ok || found.T < surely {
		return ""
	}
	before, after := e.side(e.sum(rows[:found.At])), e.side(e.sum(rows[found.At:]))
	was, is := e.mean(before), e.mean(after)
	if math.Max(was/is, is/was) < much {
		return ""
	}
	text := fmt.Sprintf("Latency changes %d s into the judged window, at the same load: from %s to %s.", found.At, ms(was), ms(is))
	worse, better := after, before
	if is < was {
		worse, better = before, after
	}
	most := -1
	for i := range e.names {
		if grown := worse.parts[i] - better.parts[i]; e.names[i] != Queue && (most < 0 || grown > worse.parts[most]-better.parts[most]) {
			most = i
		}
	}
	grown := worse.parts[most] - better.parts[most]
	if grown < explained*math.Abs(is-was) {
		return text // by what was not measured
	}
	return text + fmt.Sprintf(" %s of the difference are %s.", ms(grown), e.names[most])
}
