package traffic

import (
	"maps"
	"slices"
)

const (
	second = int64(1e6) // µs
	minute = 60 * second
)

// page is the requests of each second of a minute.
type page [60]uint32

// series is the requests of each second, in pages for the minutes that have some.
type series struct {
	pages  map[int64]*page // by minutes since 1970
	last   *page           // that of the last request, and its minute
	minute int64
}

// add counts a request at a time in µs. It is false if that needs one more page than the
// budget has.
func (s *series) add(at int64, budget *int) bool {
	m := at / minute
	if s.last == nil || m != s.minute {
		p := s.pages[m]
		if p == nil {
			if *budget == 0 {
				return false
			}
			*budget--
			p = &page{}
			if s.pages == nil {
				s.pages = map[int64]*page{}
			}
			s.pages[m] = p
		}
		s.last, s.minute = p, m
	}
	s.last[at%minute/second]++
	return true
}

// merge adds the counts of another series, which is not used after it, and returns how many
// pages that frees.
func (s *series) merge(from *series) (freed int) {
	for m, p := range from.pages {
		into := s.pages[m]
		if into == nil {
			if s.pages == nil {
				s.pages = map[int64]*page{}
			}
			s.pages[m] = p
			continue
		}
		freed++
		for i, n := range p {
			into[i] += n
		}
	}
	s.last = nil
	return freed
}

// addTo adds the counts to those of seconds, of which the first is from, in seconds since
// 1970.
func (s *series) addTo(seconds []uint32, from int64) {
	for m, p := range s.pages {
		for i, n := range p {
			if at := m*60 + int64(i) - from; at >= 0 && at < int64(len(seconds)) {
				seconds[at] += n
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
		for _, n := range s.pages[m] {
			one.Requests += uint64(n)
		}
		all = append(all, one)
	}
	return all
}
