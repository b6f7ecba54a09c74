package stats

// sokalWindow is the number of correlation times over which autocorrelations are
// summed, as larger lags only add noise: Sokal's window of five times 2 tau.
const sokalWindow = 10

// Correlation is the integrated autocorrelation time, in seconds, of the share K/N of
// each second,
//
//	tau = 1/2 + sum_(j=1..M) r_j
//
// with r_j the autocorrelation at a lag of j seconds of the residuals K_i - v_w N_i
// within their window w, and M the smallest lag that is ten times the sum so far
// (Sokal, Monte Carlo Methods in Statistical Mechanics, 1989, section 3; the
// usual 2 tau is Geyer's and Goodman and Weare's). It is 1/2 for independent
// seconds, and near the time constant of a first-order autoregression where that
// is long. Lags up to half of the longest window are used, so that a slow series in a
// short window is underestimated: see BatchFactor.
//
// It is 1/2 without variance, and 0 without seconds.
func Correlation(seconds []Second) float64 {
	if len(seconds) == 0 {
		return 0
	}
	var residuals [][]float64
	squares, longest := 0.0, 0
	for _, w := range Windows(seconds) {
		total, of := Sum(w), make([]float64, len(w))
		for i, x := range w {
			if total.N > 0 {
				of[i] = x.K - total.K/total.N*x.N
			}
			squares += of[i] * of[i]
		}
		residuals = append(residuals, of)
		longest = max(longest, len(w))
	}
	tau := 0.5
	if squares == 0 {
		return tau
	}
	for lag := 1; lag < longest/2; lag++ {
		products := 0.0
		for _, of := range residuals {
			for i := lag; i < len(of); i++ {
				products += of[i] * of[i-lag]
			}
		}
		tau += products / squares
		if float64(lag) >= sokalWindow*tau {
			break
		}
	}
	return max(tau, 0)
}
