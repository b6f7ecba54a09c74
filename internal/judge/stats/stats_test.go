package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*max(1, math.Abs(b)) }

// The incomplete beta function agrees with the sum of binomial probabilities.
func TestTailsAreSumsOfTheBinomial(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 500).Draw(rt, "n")
		k := rapid.IntRange(0, n).Draw(rt, "k")
		q := rapid.Float64Range(0.001, 0.999).Draw(rt, "q")
		terms := distuv.Binomial{N: float64(n), P: q}
		sum := 0.0
		for i := range k + 1 {
			sum += terms.Prob(float64(i))
		}
		if got := AtMost(float64(n), float64(k), q); !near(got, sum, 1e-9) {
			rt.Errorf("P(X <= %d) is %g, the terms add up to %g", k, got, sum)
		}
		if both := AtMost(float64(n), float64(k), q) + AtLeast(float64(n), float64(k+1), q); !near(both, 1, 1e-9) {
			rt.Errorf("the two tails add up to %g", both)
		}
	})
}

// The smallest samples without a violation that decide at 95 % and at 99 %.
func TestSmallestSamplesWithoutViolations(t *testing.T) {
	for _, tt := range []struct {
		q, alpha float64
		n        float64
	}{{0.01, 0.05, 299}, {0.01, 0.01, 459}, {0.001, 0.05, 2995}, {0.001, 0.01, 4603}} {
		if AtMost(tt.n, 0, tt.q) > tt.alpha || AtMost(tt.n-1, 0, tt.q) <= tt.alpha {
			t.Errorf("q %g at %g: not %g samples", tt.q, tt.alpha, tt.n)
		}
	}
}

func TestVarianceRatio(t *testing.T) {
	batchesOf := func(ks ...float64) (all []Batch) {
		for _, k := range ks {
			all = append(all, Batch{N: 100, K: k})
		}
		return all
	}
	twenty := make([]float64, 20)
	for i := range twenty {
		twenty[i] = float64(5 + i%2*10) // 5 and 15 of 100: v 0.1, s2 0.0025 20/19
	}
	got, degrees, ok := varianceRatio(batchesOf(twenty...))
	if want := 100 * 0.0025 * 20 / 19 / 0.09; !ok || degrees != 19 || !near(got, want, 1e-12) {
		t.Errorf("the ratio is %g with %d degrees of freedom, want %g", got, degrees, want)
	}
	for name, all := range map[string][]Batch{
		"none": nil, "one batch": batchesOf(5), "no violation": batchesOf(0, 0), "nothing else": batchesOf(100, 100),
		"samples in one": {{N: 10, K: 1}, {}}, "one of each window": {{N: 10, K: 1}, {N: 10, K: 5, Stratum: 1}},
	} {
		if _, _, ok := varianceRatio(all); ok {
			t.Errorf("%s: there is a ratio", name)
		}
	}
	// Windows at different levels are not autocorrelation.
	var windows []Batch
	for i := range 20 {
		windows = append(windows, Batch{N: 1000, K: float64(10 + i/10*400 + i%2), Stratum: i / 10})
	}
	if got, _, _ := varianceRatio(windows); got > 1.1 {
		t.Errorf("two windows that differ have a ratio of %g", got)
	}
	for i := range windows {
		windows[i].Stratum = 0
	}
	if got, _, _ := varianceRatio(windows); got < 100 {
		t.Errorf("one window that jumps has a ratio of %g", got)
	}
}

func TestStudentFactor(t *testing.T) {
	if StudentFactor(20) != 1 || StudentFactor(40) != 1 || !(StudentFactor(10) > 1.2) || !(StudentFactor(3) > StudentFactor(5)) || !math.IsInf(StudentFactor(1), 1) {
		t.Errorf("few batches: %g %g %g %g", StudentFactor(20), StudentFactor(10), StudentFactor(5), StudentFactor(3))
	}
}

// The ratio is near 1 for independent samples, and near m for samples in clusters of m.
func TestVarianceRatioOfClusters(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, cluster := range []int{1, 4, 25} {
		mean := 0.0
		const rounds = 200
		for range rounds {
			all := make([]Batch, 20)
			for i := range all {
				for range 2000 / cluster {
					all[i].N += float64(cluster)
					if rng.Float64() < 0.1 {
						all[i].K += float64(cluster)
					}
				}
			}
			ratio, _, _ := varianceRatio(all)
			mean += max(1, ratio) / rounds
		}
		// The maximum of 1 and an estimate is above 1 on average.
		if low, high := 0.85*float64(cluster), 1.25*float64(cluster); mean < low || mean > high {
			t.Errorf("clusters of %d have a mean ratio of %g", cluster, mean)
		}
	}
}

func TestShareIntervalIsClopperPearson(t *testing.T) {
	for _, n := range []float64{10, 459, 6000} {
		lower, upper := ShareInterval(n, 0)
		if want := 1 - math.Pow(Alpha, 1/n); lower != 0 || !near(upper, want, 1e-9) {
			t.Errorf("0 of %g: up to %g, want %g", n, upper, want)
		}
		lower, upper = ShareInterval(n, n)
		if want := math.Pow(Alpha, 1/n); upper != 1 || !near(lower, want, 1e-9) {
			t.Errorf("all of %g: from %g, want %g", n, lower, want)
		}
	}
	// By beta quantiles, the usual form of the interval.
	for _, tt := range [][2]float64{{100, 10}, {562, 30}} {
		lower, upper := ShareInterval(tt[0], tt[1])
		low := distuv.Beta{Alpha: tt[1], Beta: tt[0] - tt[1] + 1}.Quantile(Alpha)
		high := distuv.Beta{Alpha: tt[1] + 1, Beta: tt[0] - tt[1]}.Quantile(1 - Alpha)
		if !near(lower, low, 1e-6) || !near(upper, high, 1e-6) {
			t.Errorf("%v: %g to %g, want %g to %g", tt, lower, upper, low, high)
		}
	}
}

// The interval of a quantile contains it as often as stated, for independent samples.
func TestQuantileRanksCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, p, rounds = 2000, 0.95, 2000
	lower, upper, hasLower, hasUpper := QuantileRanks(n, p)
	if !hasLower || !hasUpper || lower >= p || upper <= p {
		t.Fatalf("ranks %g to %g", lower, upper)
	}
	below, above := 0, 0
	for range rounds {
		under := 0 // samples below the true quantile
		for range n {
			if rng.Float64() < p {
				under++
			}
		}
		if under < int(math.Ceil(lower*n)) { // X_(r) is over the quantile
			below++
		}
		if under >= int(math.Ceil(upper*n)) {
			above++
		}
	}
	for side, missed := range map[string]int{"lower": below, "upper": above} {
		if share := float64(missed) / rounds; share > 0.02 {
			t.Errorf("the %s side misses the quantile in %g of the rounds, want %g", side, share, Alpha)
		}
	}
	if _, _, _, has := QuantileRanks(458, 0.99); has {
		t.Error("458 samples bound a p99 from above at 1 %")
	}
	if _, _, _, has := QuantileRanks(460, 0.99); !has {
		t.Error("460 samples do not bound a p99 from above at 1 %")
	}
}

func TestRatioInterval(t *testing.T) {
	full := make([]Batch, 20)
	for i := range full {
		full[i] = Batch{N: 50, K: 50}
	}
	share, lower, upper, ok := RatioInterval(full)
	if !ok || share != 1 || lower != 1 || upper != 1 {
		t.Errorf("all completed: %g (%g to %g)", share, lower, upper)
	}
	full[3].K = 40
	share, lower, upper, _ = RatioInterval(full)
	// One batch 0.2 below: s = 0.2 / sqrt(20), t(0.99, 19) = 2.539.
	half := 2.539483 * 0.2 / math.Sqrt(20) / math.Sqrt(20)
	if !near(share, 0.99, 1e-12) || !near(upper-share, half, 1e-5) || !near(share-lower, half, 1e-5) {
		t.Errorf("%g (%g to %g), want +-%g", share, lower, upper, half)
	}
	// Many seconds with little load do not outweigh a few with much.
	uneven := append(make([]Batch, 0, 20), full[4:]...)
	for range 4 {
		uneven = append(uneven, Batch{N: 10_000, K: 9_000})
	}
	if share, lower, upper, _ := RatioInterval(uneven); !near(share, 36_800.0/40_800, 1e-12) || lower > share || upper < share {
		t.Errorf("uneven batches: %g (%g to %g)", share, lower, upper)
	}
	if _, _, _, ok := RatioInterval(full[:1]); ok {
		t.Error("one batch has an interval")
	}
}

func TestTrend(t *testing.T) {
	line := make([]float64, 20)
	for i := range line {
		line[i] = 10 + 0.5*float64(i)
	}
	trend, ok := TrendOf(line)
	if !ok || !near(trend.Change, 10, 1e-9) || !near(trend.Lower, 10, 1e-6) || !near(trend.Upper, 10, 1e-6) {
		t.Errorf("a straight line changes by %+v", trend)
	}
	if _, ok := TrendOf(line[:4]); ok {
		t.Error("four values have a trend")
	}
	if trend, ok := TrendOf(make([]float64, 20)); !ok || trend != (Trend{}) {
		t.Errorf("nothing changes by %+v, %v", trend, ok)
	}
	line[19] = 1000 // one outlier is no trend
	if trend, ok := TrendOf(line); ok && trend.Lower > 0 {
		t.Errorf("an outlier at the end makes a trend: %+v", trend)
	}
}

// The interval contains the trend in 99 % of series, even if neighbours are correlated.
func TestTrendCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, tt := range []struct{ memory, most float64 }{{0, 0.02}, {0.3, 0.04}, {0.6, 0.06}} {
		const rounds = 4000
		missed := 0
		for range rounds {
			values := make([]float64, 20)
			noise := rng.NormFloat64()
			for i := range values {
				noise = tt.memory*noise + math.Sqrt(1-tt.memory*tt.memory)*rng.NormFloat64()
				values[i] = 100 + 0.25*float64(i) + noise
			}
			if trend, ok := TrendOf(values); ok && (trend.Lower > 5 || trend.Upper < 5) {
				missed++
			}
		}
		if share := float64(missed) / rounds; share > tt.most {
			t.Errorf("autocorrelation %g: the interval misses the trend in %g of the rounds", tt.memory, share)
		}
	}
}
