// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"
	"time"
)

// Window is when rows of acknowledged transactions can have been stored, unix ms.
type Window struct {
	Start   int64 // of the load
	Read    int64 // when the last row was read; 0: unknown
	Timeout int64 // of a transaction, ms
	Slack   int64 // by which clocks may differ, and columns round, ms
}

// Off is by how many ms the rows are dated before or after they can have been stored: negative
// before, positive after; 0: they are not. The transactions of setup() begin before the load.
func (w Window) Off(d Dates) int64 {
	first := w.Start - w.Slack
	if d.FirstAck < w.Start {
		first = d.FirstAck - w.Timeout - w.Slack
	}
	switch {
	case d == Dates{}:
		return 0
	case d.FirstRow < first:
		return d.FirstRow - first
	case w.Read == 0:
		return 0
	}
	return max(0, d.LastRow-w.Read-w.Slack)
}

const (
	zoneStep = 15 * time.Minute // of which all time zones are multiples
	maxZone  = 14 * time.Hour
)

// Zone is by how many ms the rows are off, where that is certain: they cannot have been stored
// when they are dated, and all can where local times of one of these time zones are taken for
// UTC.
func (w Window) Zone(d Dates, zones []time.Duration) (ms int64, certain bool) {
	if w.Off(d) == 0 {
		return 0, false
	}
	for _, zone := range slices.Sorted(slices.Values(zones)) {
		if zone == 0 || zone%zoneStep != 0 || zone.Abs() > maxZone {
			continue
		}
		by := zone.Milliseconds()
		moved := d
		moved.FirstRow, moved.LastRow, moved.Lead = d.FirstRow-by, d.LastRow-by, d.Lead+by
		if w.Off(moved) == 0 && moved.Lead <= w.Timeout+w.Slack {
			return by, true
		}
	}
	return 0, false
}
