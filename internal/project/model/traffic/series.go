package traffic

import (
	"maps"
	"slices"
)

const (
	second = int64(1e6) // µs
	minute = 60 * second
)

// page is the requests of each second of a minute, modulo carry: few endpoints have more,
// and a day of 1,000 endpoints has 1.4 million pages. high has how often each second had
// carry requests.
type (
	page [60]uint8
	high [60]uint32
)

const carry = 256

// room is how many pages there are.
type room struct{ pages, highs int }

// series is the requests of each second, in pages for the minutes that have some.
type series struct {
	pages  map[int64]*page // by minutes since 1970
	highs  map[int64]*high // of the minutes that need one
	last   *page           // that of the last request, and its minute
	minute int64
}

// add counts a request at a time in µs. It is false if that needs one more page than there
// is room for.
func (s *series) add(at int64, left *room) bool {
	m := at / minute
	if s.last == nil || m != s.minute {
		p := s.pages[m]
		if p == nil {
			if left.pages <= 0 {
				return false
			}
			left.pages--
			p = &page{}
			s.setPage(m, p)
		}
		s.last, s.minute = p, m
	}
	n := &s.last[at%minute/second]
	if *n == carry-1 {
		if s.highs[m] == nil {
			if left.highs <= 0 {
				return false
			}
			left.highs--
			s.setHigh(m, &high{})
		}
		s.highs[m][at%minute/second]++
	}
	*n++
	return true
}

func (s *series) setPage(m int64, p *page) {
	if s.pages == nil {
		s.pages = map[int64]*page{}
	}
	s.pages[m] = p
}

func (s *series) setHigh(m int64, h *high) {
	if s.highs == nil {
		s.highs = map[int64]*high{}
	}
	s.highs[m] = h
}

// used is the room that the series takes.
func (s *series) used() room { return room{len(s.pages), len(s.highs)} }

// merge adds the counts of another series, which is not used after it, and returns the room
// that this frees; of high pages, it may need some more.
func (s *series) merge(from *series) (freed room) {
	before, others := s.used(), from.used()
	for m, p := range from.pages {
		if s.pages[m] != nil {
			for i := range p {
				s.set(m, i, s.at(m, i)+from.at(m, i))
			}
			continue
		}
		s.setPage(m, p)
		if h := from.highs[m]; h != nil {
			s.setHigh(m, h)
		}
	}
	s.last = nil
	after := s.used()
	return room{before.pages + others.pages - after.pages, before.highs + others.highs - after.highs}
}

// at is the requests of a second of a minute that has a page.
func (s *series) at(m int64, i int) uint32 {
	n := uint32(s.pages[m][i])
	if h := s.highs[m]; h != nil {
		n += carry * h[i]
	}
	return n
}

// set sets them.
func (s *series) set(m int64, i int, n uint32) {
	s.pages[m][i] = uint8(n % carry)
	if s.highs[m] == nil {
		if n < carry {
			return
		}
		s.setHigh(m, &high{})
	}
	s.highs[m][i] = n / carry
}

// addTo adds the counts to those of seconds, of which the first is from, in seconds since
// 1970.
func (s *series) addTo(seconds []uint32, from int64) {
	for m := range s.pages {
		for i := range 60 {
			if at := m*60 + int64(i) - from; at >= 0 && at < int64(len(seconds)) {
				seconds[at] += s.at(m, i)
			}
		}
	}
}

// Minute is the requests of one minute.
type Minute struct {
	Start    int64 // s since 1970
	Requests uint64
}

// minutes are those with requests, in order of time.
func (s *series) minutes() (all []Minute) {
	for _, m := range slices.Sorted(maps.Keys(s.pages)) {
		one := Minute{Start: m * 60}
		for i := range 60 {
			one.Requests += uint64(s.at(m, i))
		}
		all = append(all, one)
	}
	return all
}
