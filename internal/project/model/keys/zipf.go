package keys

import "math"

// Skew is how unevenly the keys of an endpoint are requested.
type Skew struct {
	Distinct float64 // keys that were requested
	Keys     float64 // keys that there are, as the fit has it: those that no request had, too
	// Exponent s of the Zipf distribution that fits: the key of rank i has a share
	// proportional to 1/i^s. 0: all keys are alike.
	Exponent float64
	// TopShare of the requests, [0, 1], is for the most requested 1 % of the distinct keys,
	// at least one key.
	TopShare float64
	// Counted: TopShare was counted. It is that of the fit where a sketch does not count so
	// many keys.
	Counted bool
}

const (
	// topKeys is the share of the keys that TopShare is about.
	topKeys = 0.01
	// leastCount is the least count of a key that the fit uses: the order of keys that were
	// requested less often is chance.
	leastCount = 10
	// maxExponent is the largest exponent that is fitted: with it, 83 % of the requests are
	// for one key.
	maxExponent = 3
	// maxKeys bounds Keys, where nearly every request has a key of its own.
	maxKeys = 1e9
)

// Skew fits a Zipf distribution, by maximum likelihood, to the counts of the most requested
// keys and to the sum of all others. The number of keys is the one of which so many
// requests are expected to have as many distinct ones as were seen.
func (s *Sketch) Skew() (k Skew) {
	k.Distinct = s.Distinct()
	if s.total == 0 {
		return k
	}
	if k.Distinct == 1 {
		return Skew{Distinct: 1, Keys: 1, TopShare: 1, Counted: true}
	}
	k.Keys = max(1, k.Distinct)
	top, n := s.top(leastCount), float64(s.total)
	logs, sum := 0.0, 0.0 // sums over the top
	for i, c := range top {
		logs += float64(c) * math.Log(float64(i+1))
		sum += float64(c)
	}
	sum = min(sum, n)
	for range 6 { // the number of keys changes little after the first
		k.Exponent = maximize(0, maxExponent, func(e float64) float64 {
			whole, head := harmonic(k.Keys, e), harmonic(float64(len(top)), e)
			likelihood := -e*logs - n*math.Log(whole)
			if tail := whole - head; n > sum && tail > 0 {
				likelihood += (n - sum) * math.Log(tail)
			}
			return likelihood
		})
		if len(top) == 0 {
			k.Exponent = 0 // nothing shows a difference between keys
		}
		k.Keys = keysOf(k.Distinct, k.Exponent, n)
	}
	first := max(1, math.Round(topKeys*k.Distinct))
	if k.Counted = first <= float64(len(top)); k.Counted {
		for _, c := range top[:int(first)] {
			k.TopShare += float64(c) / n
		}
	} else {
		k.TopShare = harmonic(first, k.Exponent) / harmonic(k.Keys, k.Exponent)
	}
	k.TopShare = min(k.TopShare, 1)
	return k
}

// exactly is how many of a sum's first terms are added one by one.
const exactly = 64

// harmonic is the sum of i^-s for i from 1 to n.
func harmonic(n, s float64) (sum float64) {
	i := 1.0
	for ; i <= min(n, exactly); i++ {
		sum += math.Pow(i, -s)
	}
	if i > n {
		return sum
	}
	// The rest is an integral, by the midpoint rule, from i-1/2 to n+1/2.
	from, to := i-0.5, n+0.5
	if math.Abs(s-1) < 1e-9 {
		return sum + math.Log(to/from)
	}
	return sum + (math.Pow(to, 1-s)-math.Pow(from, 1-s))/(1-s)
}

// expectedDistinct is how many of the keys are expected in n requests: the sum of
// 1 - exp(-n p) over the keys' probabilities p, which is within a part in n of
// 1 - (1-p)^n.
func expectedDistinct(keys, s, n float64) (sum float64) {
	whole := harmonic(keys, s)
	// Blocks of keys: of one each first, then each a twentieth longer.
	for from := 1.0; from <= keys; {
		length := min(max(1, math.Floor(from/20)), keys-from+1)
		middle := from + (length-1)/2
		sum += length * -math.Expm1(-n*math.Pow(middle, -s)/whole)
		from += length
	}
	return sum
}

// keysOf is the number of keys of which n requests are expected to have so many distinct
// ones.
func keysOf(distinct, s, n float64) float64 {
	low, high := max(1, distinct), maxKeys
	if expectedDistinct(high, s, n) < distinct {
		return high
	}
	for high/low > 1.0001 {
		if middle := math.Sqrt(low * high); expectedDistinct(middle, s, n) < distinct {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Round(low)
}

// maximize finds the maximum of a function with one between low and high (golden section).
func maximize(low, high float64, f func(float64) float64) float64 {
	golden := (math.Sqrt(5) - 1) / 2
	a, b := high-golden*(high-low), low+golden*(high-low)
	fa, fb := f(a), f(b)
	for high-low > 1e-4 {
		if fa > fb {
			high, b, fb = b, a, fa
			a = high - golden*(high-low)
			fa = f(a)
		} else {
			low, a, fa = a, b, fb
			b = low + golden*(high-low)
			fb = f(b)
		}
	}
	return (low + high) / 2
}
