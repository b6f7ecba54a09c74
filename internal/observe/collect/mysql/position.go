package mysql

import (
	"cmp"
	"strings"
	"time"
)

// position is a position in a binlog.
type position struct {
	file   string
	offset uint64
}

// compare orders positions of one server. File names end in a number of six digits,
// and of more digits after 999999.
func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(len(p.file), len(q.file)), strings.Compare(p.file, q.file), cmp.Compare(p.offset, q.offset))
}

// history holds the observed end positions of a binlog. It discards those that the
// replica has executed.
type history struct {
	ends []end
	last time.Time // of the latest observation
}

// end is an observed end position. The binlog reached it after since, the time of the
// observation before it.
type end struct {
	position
	since time.Time
}

// add records the end of the binlog at now. A position that goes backwards belongs to a
// new series of files, with which the older ones cannot be compared.
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

// lag returns the greatest possible age of the oldest transaction that is not executed
// yet; 0 if the replica has executed everything that was observed. It exceeds the true
// age by at most the interval between two observations. It is too low only for
// transactions that were written before the first observation.
func (h *history) lag(executed position, now time.Time) time.Duration {
	first := 0
	for first < len(h.ends) && h.ends[first].compare(executed) <= 0 {
		first++
	}
	if first > 0 && first == len(h.ends) {
		h.ends = h.ends[first-1:] // add compares the next position with it
		return 0
	}
	h.ends = h.ends[first:]
	if len(h.ends) == 0 {
		return 0
	}
	return now.Sub(h.ends[0].since)
}
