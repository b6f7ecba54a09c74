// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Batches is the number of groups of whole seconds of a judged window
// (docs/calibration.md).
const Batches = 20

// Batch is a group of consecutive seconds. Windows at different rates are strata: they
// differ by design, not by chance.
type Batch struct {
	N       float64 // samples
	K       float64 // samples that are counted: violations, failures, values over a threshold
	Stratum int     // window of the batch
}

// Sum adds batches up.
func Sum(all []Batch) (total Batch) {
	for _, b := range all {
		total.N += b.N
		total.K += b.K
	}
	return total
}

// varianceRatio is the ratio of the variance of the share K/N over batches to that of
// independent samples, and its degrees of freedom,
//
//	m s2 / (v (1 - v)),   b - strata
//
// with v = sum K / sum N, m = sum N / b, and s2 the variance of the ratio
// estimator over the b batches with samples within their strata w,
//
//	s2 = sum (K_i - v_w N_i)^2 / (m^2 (b - strata))
//
// (Cochran, Sampling Techniques, sections 5.6 and 6.4; batch means as in Law and
// Kelton). It is false where v is 0 or 1, as the formula is 0/0, or where no stratum has
// two batches with samples.
func varianceRatio(all []Batch) (ratio float64, degrees int, ok bool) {
	total, strata := Sum(all), map[int]*Batch{}
	b := 0
	for _, x := range all {
		if x.N <= 0 {
			continue
		}
		b++
		s := strata[x.Stratum]
		if s == nil {
			s = &Batch{}
			strata[x.Stratum] = s
		}
		s.N += x.N
		s.K += x.K
	}
	degrees = b - len(strata)
	if degrees < 1 || total.K <= 0 || total.K >= total.N {
		return 0, degrees, false
	}
	v, m, s2 := total.K/total.N, total.N/float64(b), 0.0
	for _, x := range all {
		if s := strata[x.Stratum]; s != nil && s.N > 0 {
			d := x.K - s.K/s.N*x.N
			s2 += d * d
		}
	}
	s2 /= m * m * float64(degrees)
	return m * s2 / (v * (1 - v)), degrees, true
}

// StudentFactor is the factor of a variance that is estimated from b batches, as fewer
// than Batches are less certain: the squared ratio of Student's quantiles, at Alpha, of
// b - 1 and Batches - 1 degrees of freedom. It is 1 for at least Batches, and +Inf for
// fewer than two.
func StudentFactor(b int) float64 {
	switch {
	case b >= Batches:
		return 1
	case b < 2:
		return math.Inf(1)
	}
	r := student(1-Alpha, float64(b-1)) / student(1-Alpha, Batches-1)
	return r * r
}

// student is the p-quantile of Student's distribution.
func student(p, degrees float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: degrees}.Quantile(p)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Second is one second of a judged window. The seconds of a window are in order of time
// and have its Stratum; a second without samples has N = 0.
type Second = Batch

// Windows splits the seconds by window.
func Windows(seconds []Second) (each [][]Second) {
	from := 0
	for i := range seconds {
		if i+1 == len(seconds) || seconds[i+1].Stratum != seconds[i].Stratum {
			each = append(each, seconds[from:i+1])
			from = i + 1
		}
	}
	return each
}

// MinBatch is the length of the shortest batch, in seconds.
const MinBatch = 2

// batches groups seconds into about b batches of nearly equal length, each within one
// window. A window has at least two if it is long enough, as one has no variance.
func batches(seconds []Second, b int) (all []Batch) {
	for _, w := range Windows(seconds) {
		share := (b*len(w) + len(seconds)/2) / len(seconds)
		n := max(1, min(max(2, share), len(w)/MinBatch))
		for j := range n {
			total := Sum(w[j*len(w)/n : (j+1)*len(w)/n])
			total.Stratum = w[0].Stratum
			all = append(all, total)
		}
	}
	return all
}
