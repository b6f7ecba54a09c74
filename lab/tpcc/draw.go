package tpcc

import "math/rand/v2"

// draw makes the random values of clause 4.3.2. It is repeatable: one for each part of the
// data, which are made concurrently.
type draw struct{ *rand.Rand }

func newDraw(seed, part uint64) draw { return draw{rand.New(rand.NewPCG(seed, part))} }

// between draws an integer from low to high, both included.
func (d draw) between(low, high int) int { return low + d.IntN(high-low+1) }

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	digits  = "0123456789"
)

// text draws a text of low to high characters of an alphabet.
func (d draw) text(alphabet string, low, high int) string {
	b := make([]byte, d.between(low, high))
	for i := range b {
		b[i] = alphabet[d.IntN(len(alphabet))]
	}
	return string(b)
}

func (d draw) words(low, high int) string { return d.text(letters, low, high) }

// zip is four digits and 11111 (clause 4.3.2.7).
func (d draw) zip() string { return d.text(digits, 4, 4) + "11111" }

// rate draws from 0 to at most, in steps of 0.0001.
func (d draw) rate(most float64) float64 { return float64(d.between(0, int(most*10_000))) / 10_000 }

// data is the text of items and stock: a tenth contains ORIGINAL.
func (d draw) data() string {
	const mark = "ORIGINAL"
	text := d.words(26, 50)
	if d.IntN(10) > 0 {
		return text
	}
	at := d.IntN(len(text) - len(mark))
	return text[:at] + mark + text[at+len(mark):]
}

// nonUniform is NURand of clause 2.1.6, with the constant c.
func (d draw) nonUniform(a, c, low, high int) int {
	return ((d.between(0, a)|d.between(low, high))+c)%(high-low+1) + low
}

// lastConstant is C of NURand for last names as they are loaded. Scenarios draw with
// another one, whose distance the specification prescribes (clause 2.1.6.1).
const lastConstant = 157

var syllables = []string{"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}

// lastName is the name with this number, 0 to 999 (clause 4.3.2.3).
func lastName(number int) string {
	return syllables[number/100] + syllables[number/10%10] + syllables[number%10]
}
