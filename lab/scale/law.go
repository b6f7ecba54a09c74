package scale

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Law is the Universal Scalability Law (Gunther): with N threads the throughput is
//
//	X(N) = Lambda N / (1 + Sigma (N-1) + Kappa N (N-1))
//
// It is advice, not a measurement: it extrapolates from a few noisy points.
type Law struct {
	Lambda float64  `json:"lambda"`         // throughput of one thread, per second
	Sigma  float64  `json:"sigma"`          // contention: the serial share of the work
	Kappa  float64  `json:"kappa"`          // coherence: the cost of keeping N in agreement
	PeakAt *float64 `json:"peak_threads"`   // N with the highest throughput, sqrt((1-Sigma)/Kappa); null: it grows without an end
	Peak   *float64 `json:"peak_tps"`       // throughput with PeakAt threads, per second; null like PeakAt
	Error  float64  `json:"relative_error"` // root mean square of the relative deviations of the measured throughputs
}

// minLawPoints is the fewest numbers of threads that determine the law with one to spare.
const minLawPoints = 4

// Fit fits the law to the mean throughput x at n threads by least squares of the relative
// deviations of n/x, which is linear in 1/Lambda, Sigma/Lambda and Kappa/Lambda. Negative
// Sigma or Kappa have no meaning: then one of them is 0, or both, whichever fits best. ok is
// false with too few points.
func Fit(threads []int, x []float64) (l Law, ok bool) {
	var n, y []float64
	for i, count := range threads {
		if x[i] > 0 {
			n, y = append(n, float64(count)), append(y, x[i])
		}
	}
	if len(n) < minLawPoints {
		return l, false
	}
	for _, use := range [][2]bool{{true, true}, {true, false}, {false, true}, {false, false}} {
		c, solved := fit(n, y, use[0], use[1])
		if !solved || c.Sigma < 0 || c.Kappa < 0 || c.Lambda <= 0 {
			continue
		}
		if c.Error = c.deviation(n, y); !ok || c.Error < l.Error {
			l, ok = c, true
		}
	}
	if !ok {
		return l, false
	}
	if l.Kappa > 0 && l.Sigma < 1 {
		if at := math.Sqrt((1 - l.Sigma) / l.Kappa); at >= 1 {
			l.PeakAt, l.Peak = &at, new(l.At(at))
		}
	}
	return l, true
}

// At is the throughput with n threads.
func (l Law) At(n float64) float64 {
	return l.Lambda * n / (1 + l.Sigma*(n-1) + l.Kappa*n*(n-1))
}

// deviation is the root mean square of the relative deviations of throughputs y.
func (l Law) deviation(n, y []float64) float64 {
	sum := 0.0
	for i := range n {
		d := l.At(n[i])/y[i] - 1
		sum += d * d
	}
	return math.Sqrt(sum / float64(len(n)))
}

func fit(n, y []float64, sigma, kappa bool) (l Law, ok bool) {
	columns := 1
	for _, use := range []bool{sigma, kappa} {
		if use {
			columns++
		}
	}
	a, b := mat.NewDense(len(n), columns, nil), mat.NewVecDense(len(n), nil)
	for i := range n {
		weight := y[i] / n[i] // 1 over the fitted quantity: relative deviations count
		b.SetVec(i, 1)
		row := []float64{weight}
		if sigma {
			row = append(row, weight*(n[i]-1))
		}
		if kappa {
			row = append(row, weight*n[i]*(n[i]-1))
		}
		a.SetRow(i, row)
	}
	var found mat.VecDense
	if err := found.SolveVec(a, b); err != nil {
		return l, false
	}
	l.Lambda = 1 / found.AtVec(0)
	at := 1
	if sigma {
		l.Sigma = found.AtVec(at) * l.Lambda
		at++
	}
	if kappa {
		l.Kappa = found.AtVec(at) * l.Lambda
	}
	return l, true
}
