package mysql

import (
	"cmp"
	"strings"
	"time"
)

// position is a place in a binlog.
type position struct {
	file string
	at   uint64
}

// compare orders positions of one server: its files are numbered, with more
// digits once six are not enough.
func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(len(p.file), len(q.file)), strings.Compare(p.file, q.file), cmp.Compare(p.at, q.at))
}

// history is where the binlog's end was seen, and when.
type history struct {
	ends []end
	last time.Time // of the newest look
}

// end is a position that the binlog had reached by some moment after since: the
// look before had not seen it.
type end struct {
	position
	since time.Time
}

// add notes where the binlog ends now. Of a server that begins a new series of
// files nothing old can be compared.
func (h *history) add(p position, now time.Time) {
	since := h.last
	if since.IsZero() {
		since = now
	}
	h.last = now
	if n := len(h.ends); n > 0 {
		switch c := p.compare(h.ends[n-1].position); {
		case c == 0:
			return
		case c < 0:
			h.ends = nil
		}
	}
	h.ends = append(h.ends, end{p, since})
}

// behind is how long ago the first transaction that is not executed yet may have been
// written; 0 when all that was seen is executed. It is never too short, except for
// what was written before the first look, and too long by the time between two
// looks at most.
func (h *history) behind(executed position, now time.Time) time.Duration {
	first := 0
	for first < len(h.ends) && h.ends[first].compare(executed) <= 0 {
		first++
	}
	if first > 0 && first == len(h.ends) {
		h.ends = h.ends[first-1:] // what the next look compares with
		return 0
	}
	h.ends = h.ends[first:]
	if len(h.ends) == 0 {
		return 0
	}
	return now.Sub(h.ends[0].since)
}
