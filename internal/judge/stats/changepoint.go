// SPDX-License-Identifier: Apache-2.0

package stats

import "math"

// ChangePoint is where the mean of a series changes most.
type ChangePoint struct {
	At int // index of the first value after the change
	// T is the difference of the two means in units of its standard error. As the
	// place is chosen for the largest T, values up to 4 are chance: see the test.
	T float64
}

// FindChangePoint is not ok where a side would have fewer than minSide values.
//
// With S(k) the sum of the first k of n values less their mean, the change is
// where S(k)^2 / (k (n - k)) is largest: there the squared deviations from two means
// are smallest (CUSUM; Page 1955). The standard error is that of the difference of two
// means of k' and (n - k)' values, where n' = n (1 - r) / (1 + r) allows for the lag-1
// autocorrelation r of the deviations (Santer et al. 2000), as in TrendOf.
func FindChangePoint(values []float64, minSide int) (c ChangePoint, ok bool) {
	n := len(values)
	if minSide < 2 || n < 2*minSide {
		return ChangePoint{}, false
	}
	mean, sum, largest := 0.0, 0.0, -1.0
	for _, v := range values {
		mean += v / float64(n)
	}
	for k := 1; k <= n-minSide; k++ {
		sum += values[k-1] - mean
		if change := sum * sum / float64(k*(n-k)); k >= minSide && change > largest {
			c.At, largest = k, change
		}
	}
	before, _ := moments(values[:c.At])
	after, _ := moments(values[c.At:])
	squares, products, last := 0.0, 0.0, 0.0
	for i, v := range values {
		d := v - before
		if i >= c.At {
			d = v - after
		}
		if i > 0 && i != c.At {
			products += d * last
		}
		squares += d * d
		last = d
	}
	if squares == 0 {
		if before != after {
			c.T = math.Inf(1)
		}
		return c, true
	}
	r := min(max(products/squares, 0), 0.95)
	discount := (1 - r) / (1 + r)
	k := float64(c.At)
	c.T = math.Abs(after-before) / math.Sqrt(squares/float64(n-2)*(1/k+1/(float64(n)-k))/discount)
	return c, true
}
