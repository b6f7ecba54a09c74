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
// carry requests; nil: none had.
type page struct {
	low  [60]uint8
	high *[60]uint32
}

const carry = 256

func (p *page) at(i int) uint32 {
	n := uint32(p.low[i])
	if p.high != nil {
		n += carry * p.high[i]
	}
	return n
}

// room is how many pages there are, and how many that have a high.
type room struct{ pages, highs int }

// series is the requests of each second, in pages for the minutes that have some.
type series struct {
	pages  map[int64]*page // by minutes since 1970
	last   *page           // page of the last request; minute is the page's
	minute int64
}

// add counts a request at a time in µs. It is false if that needs one more page than there
// is room for.
func (s *series) add(at int64, left *room) bool {
	m, i := at/minute, at%minute/second
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
	if s.last.low[i] == carry-1 {
		if s.last.high == nil {
			if left.highs <= 0 {
				return false
			}
			left.highs--
			s.last.high = &[60]uint32{}
		}
		s.last.high[i]++
	}
	s.last.low[i]++
	return true
}

func (s *series) setPage(m int64, p *page) {
	if s.pages == nil {
		s.pages = map[int64]*page{}
	}
	s.pages[m] = p
}

func (s *series) used() room {
	r := room{pages: len(s.pages)}
	for _, p := range s.pages {
		if p.high != nil {
			r.highs++
		}
	}
	return r
}

// merge adds the counts of another series, which is not used after it. There is more room
// left then, but of highs it may need some.
func (s *series) merge(from *series, left *room) {
	for m, p := range from.pages {
		into := s.pages[m]
		if into == nil {
			s.setPage(m, p)
			continue
		}
		left.pages++
		if p.high != nil {
			left.highs++
		}
		var sum [60]uint32
		for i := range sum {
			sum[i] = into.at(i) + p.at(i)
		}
		if into.high == nil && slices.Max(sum[:]) >= carry {
			left.highs--
			into.high = &[60]uint32{}
		}
		for i, n := range sum {
			into.low[i] = uint8(n % carry)
			if into.high != nil {
				into.high[i] = n / carry
			}
		}
	}
	s.last = nil
}

// addTo adds the counts to those of seconds, of which the first is from, in seconds since
// 1970.
func (s *series) addTo(seconds []uint32, from int64) {
	for m, p := range s.pages {
		for i := range p.low {
			if at := m*60 + int64(i) - from; at >= 0 && at < int64(len(seconds)) {
				seconds[at] += p.at(i)
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
			one.Requests += uint64(s.pages[m].at(i))
		}
		all = append(all, one)
	}
	return all
}
