// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"slices"
)

// sequences is a set of sequences. Those of one source follow each other, so that it
// holds few ranges however long a run is.
type sequences struct {
	ranges []sequenceRange // sorted; neither overlapping nor adjacent
	count  uint64
}

// sequenceRange is first to last, both included.
type sequenceRange struct{ first, last uint64 }

// add adds a sequence; false: it was there before.
func (s *sequences) add(n uint64) bool {
	at, found := slices.BinarySearchFunc(s.ranges, n, func(r sequenceRange, n uint64) int {
		if r.first <= n && n <= r.last {
			return 0
		}
		return cmp.Compare(r.first, n)
	})
	if found {
		return false
	}
	s.count++
	extends := at > 0 && s.ranges[at-1].last == n-1
	precedes := at < len(s.ranges) && s.ranges[at].first-1 == n
	switch {
	case extends && precedes:
		s.ranges[at-1].last = s.ranges[at].last
		s.ranges = slices.Delete(s.ranges, at, at+1)
	case extends:
		s.ranges[at-1].last = n
	case precedes:
		s.ranges[at].first = n
	default:
		s.ranges = slices.Insert(s.ranges, at, sequenceRange{n, n})
	}
	return true
}
