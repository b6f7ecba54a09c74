package keys

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"
)

// size is the number of keys that a sketch counts. A count is too low by at most
// 2 requests / size.
const size = 1024

// Sketch counts the most requested keys: Misra and Gries' algorithm, with one purge for many
// new keys (Anderson et al., "A High-Performance Algorithm for Identifying Frequent Items in
// Data Streams", 2017). The zero value is empty.
type Sketch struct {
	total  uint64
	counts map[uint64]uint64 // lower bounds
	purged uint64            // what was subtracted from each count: no count is too low by more
	all    *distinct         // nil: counts has all keys
}

// Add counts n requests of a key.
func (s *Sketch) Add(key, n uint64) {
	if n == 0 {
		return
	}
	if s.counts == nil {
		s.counts = map[uint64]uint64{}
	}
	if s.all != nil {
		s.all.add(key)
	}
	s.total += n
	s.counts[key] += n
	if len(s.counts) > size {
		s.purge()
	}
}

// estimated makes the number of distinct keys an estimate, if it is none yet.
func (s *Sketch) estimated() *distinct {
	if s.all == nil {
		s.all = &distinct{}
		for key := range s.counts {
			s.all.add(key)
		}
	}
	return s.all
}

// purge subtracts the median from all counts, and drops those that are then 0.
func (s *Sketch) purge() {
	s.estimated()
	all := slices.Sorted(maps.Values(s.counts))
	median := all[len(all)/2]
	for key, n := range s.counts {
		if n <= median {
			delete(s.counts, key)
		} else {
			s.counts[key] = n - median
		}
	}
	s.purged += median
}

// Merge adds what another sketch has counted, which it does not change.
func (s *Sketch) Merge(other *Sketch) {
	if other.all != nil {
		s.estimated().merge(other.all)
	}
	for key, n := range other.counts {
		if s.all != nil {
			s.all.add(key)
		}
		if s.counts == nil {
			s.counts = map[uint64]uint64{}
		}
		s.counts[key] += n
	}
	s.total += other.total
	s.purged += other.purged
	for len(s.counts) > size {
		s.purge()
	}
}

// Total is the number of requests.
func (s *Sketch) Total() uint64 { return s.total }

// Distinct is the number of keys; with more than size of them, an estimate with a standard
// error of 1.6 %.
func (s *Sketch) Distinct() float64 {
	if s.all == nil {
		return float64(len(s.counts))
	}
	return s.all.estimate()
}

// top are the counts of the most requested keys, the highest first, as far as they are
// reliable: at least least, and too low or too high by at most a fifth. A key that is among
// the most requested ones was so from the start, and has lost at each purge: purged is added.
func (s *Sketch) top(least uint64) (all []uint64) {
	for _, n := range s.counts {
		if n >= 4*s.purged && n+s.purged >= least {
			all = append(all, n+s.purged)
		}
	}
	slices.SortFunc(all, func(a, b uint64) int { return cmp.Compare(b, a) })
	return all
}

// registers is a power of 2; the standard error of an estimate is 1.04 / sqrt(registers).
const registers = 1 << registerBits

const registerBits = 12

// distinct estimates the number of distinct hashes: HyperLogLog (Flajolet et al., 2007),
// with linear counting of few. Hashes of 64 bits need no correction of many.
type distinct struct{ longest [registers]uint8 }

func (d *distinct) add(hash uint64) {
	at := hash >> (64 - registerBits)
	run := uint8(bits.LeadingZeros64(hash<<registerBits|1<<(registerBits-1))) + 1
	d.longest[at] = max(d.longest[at], run)
}

func (d *distinct) merge(other *distinct) {
	for i, run := range other.longest {
		d.longest[i] = max(d.longest[i], run)
	}
}

func (d *distinct) estimate() float64 {
	sum, empty := 0.0, 0
	for _, run := range d.longest {
		sum += math.Ldexp(1, -int(run))
		if run == 0 {
			empty++
		}
	}
	const m = float64(registers)
	raw := 0.7213 / (1 + 1.079/m) * m * m / sum
	if raw <= 2.5*m && empty > 0 {
		return m * math.Log(m/float64(empty))
	}
	return raw
}
