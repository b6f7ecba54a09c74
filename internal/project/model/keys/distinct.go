package keys

import (
	"math"
	"math/bits"
)

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
