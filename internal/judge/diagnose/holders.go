// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/observe/wait"
)

// lockHolders are the sessions that held row locks, weighted by the number of sessions
// that waited for them.
type lockHolders struct {
	all         float64
	byComponent []float64 // by index in names; idle and unknown holders are in none
	event       string    // most frequent activity; empty: no holder was sampled
	client      string    // in that activity; empty: not known
	neighbour   string    // the same, if it is a neighbour
	share       float64   // share of holders in that activity
}

func lockHoldersOf(r record.Run, spans []record.Span, l *layout) lockHolders {
	h := lockHolders{byComponent: make([]float64, len(l.names))}
	most := 0.0
	for _, s := range r.Timeline.Series(metric.DBBlocker) {
		n := sumOver(r.Timeline, metric.DBBlocker, exactly(s), spans)
		h.all += n
		if at, known := l.index[wait.ComponentOf(s.Label("class"))]; known {
			h.byComponent[at] += n
		}
		if n > most {
			most, h.event, h.client = n, s.Label("event"), s.Label("client")
		}
	}
	if h.all > 0 {
		h.share = most / h.all
	}
	return h
}
