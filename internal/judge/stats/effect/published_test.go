package effect

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > within {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Hollander and Wolfe (1973), page 29: depression scores of nine patients
// before and after therapy; the example of R's wilcox.test, which prints V = 40
// and p-value = 0.01953 for the alternative "greater".
var (
	depressionBefore = []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	depressionAfter  = []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
)

// Hollander and Wolfe (1973), page 69f: permeability of the human
// chorioamnion; the second example of R's wilcox.test, which prints W = 35 and
// p-value = 0.1272 for the alternative "greater".
var (
	atTerm = []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	early  = []float64{1.15, 0.88, 0.90, 0.74, 1.21}
)

func TestSignedRankOfR(t *testing.T) {
	var d []float64
	for i := range depressionBefore {
		d = append(d, depressionBefore[i]-depressionAfter[i])
	}
	near(t, "p", signedRank(d), 2*0.01953125, 1e-12) // 10 of 512 choices of signs
}

func TestRankSumOfR(t *testing.T) {
	near(t, "p", rankSum(early, atTerm), 2*0.12720613, 1e-7) // 382 of 3003 choices
}

// TestRankSumWithTies has the values of scipy 1.16.2, which enumerates all
// choices: mannwhitneyu(a, b, method=PermutationMethod(n_resamples=inf)).
func TestRankSumWithTies(t *testing.T) {
	near(t, "p", rankSum([]float64{1, 2, 2, 3, 5}, []float64{2, 4, 5, 5, 6, 7}), 0.08225108225108226, 1e-12)
}

// TestSignedRankWithTies likewise: wilcoxon(d, zero_method="wilcox",
// method=PermutationMethod(n_resamples=inf)).
func TestSignedRankWithTies(t *testing.T) {
	near(t, "p", signedRank([]float64{0, 1, 1, -1, 2, 3, 3, -2, 4, 0, 5}), 0.0703125, 1e-12)
}

// TestNormalRankSum has scipy's mannwhitneyu(range(0, 70, 2), range(15, 85, 2),
// method="asymptotic"), and the same with each value twice.
func TestNormalRankSum(t *testing.T) {
	var a, b, a2, b2 []float64
	for i := range 35 {
		x := float64(2 * i)
		a, b = append(a, x), append(b, x+15)
		a2, b2 = append(a2, x, x), append(b2, x+15, x+16)
	}
	near(t, "p", rankSum(a, b), 0.005985301018619695, 1e-10)
	near(t, "p with ties", rankSum(a2, b2), 5.816546557209373e-05, 1e-10)
	same := make([]float64, 40)
	near(t, "p of equal values", rankSum(same, same), 1, 0)
}

// TestShift by hand: the median of the 50 differences is 0.305, and P(U <= 8) = 0.0200
// and P(U <= 9) = 0.0276 (of all 3003 choices), so that the interval is from the 9th
// smallest to the 9th largest.
func TestShift(t *testing.T) {
	e, ok := Unpaired(exps(early), exps(atTerm))
	if !ok || e.Interval == nil || e.P == nil {
		t.Fatalf("%+v, %v", e, ok)
	}
	near(t, "shift", math.Log(e.Ratio), 0.305, 1e-12)
	near(t, "lower", math.Log(e.Interval.Lower), -0.15, 1e-12)
	near(t, "upper", math.Log(e.Interval.Upper), 0.76, 1e-12)
	near(t, "p", *e.P, 2*0.12720613, 1e-7)
}

func exps(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.Exp(v)
	}
	return out
}

// TestHolm has the values of R's p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm"):
// 0.03 0.06 0.06 0.02, and one metric more that was not tested.
func TestHolm(t *testing.T) {
	ps := []*float64{nil, nil, nil, nil, nil}
	for i, p := range []float64{0.01, 0.04, 0.03, 0.005} {
		ps[i] = &p
	}
	got := Holm(ps)
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		near(t, "adjusted", *got[i], want, 1e-12)
	}
	if got[4] != nil {
		t.Errorf("what was not tested got %v", *got[4])
	}
	one := 0.6
	for _, p := range Holm([]*float64{&one, &one}) {
		near(t, "a p-value", *p, 1, 0)
	}
}

// TestMinimumRuns: 2/2^n and 2/C(2n,n), by hand.
func TestMinimumRuns(t *testing.T) {
	for _, c := range []struct{ metrics, pairs, runs int }{{0, 6, 4}, {1, 6, 4}, {2, 7, 5}, {6, 8, 5}, {7, 9, 6}, {20, 10, 6}, {26, 11, 7}} {
		if got := MinPairs(c.metrics); got != c.pairs {
			t.Errorf("%d metrics need %d pairs, want %d", c.metrics, got, c.pairs)
		}
		if got := MinRuns(c.metrics); got != c.runs {
			t.Errorf("%d metrics need %d runs, want %d", c.metrics, got, c.runs)
		}
	}
}

// TestTableOfTheDocs checks the table of docs/comparing.md.
func TestTableOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/comparing.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (\d+) \| (\d+) \| (\d+) \|$`).FindAllStringSubmatch(string(text), -1)
	if len(rows) < 4 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		metrics, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%d %d", MinPairs(metrics), MinRuns(metrics)); got != row[2]+" "+row[3] {
			t.Errorf("%d metrics take %s, and the docs say %s %s", metrics, got, row[2], row[3])
		}
	}
}

// TestMedians compares the bootstrap distribution with an enumeration of all n^n draws.
func TestMedians(t *testing.T) {
	for n := 2; n <= 6; n++ {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i * i) // no two pairs with one mean
		}
		want, got := map[float64]float64{}, map[float64]float64{}
		total := int(math.Pow(float64(n), float64(n)))
		for code := range total {
			draw := make([]int, n)
			for x, i := code, 0; i < n; i++ {
				draw[x%n]++ // how often each value is drawn
				x /= n
			}
			var sample []float64
			for i, times := range draw {
				for range times {
					sample = append(sample, values[i])
				}
			}
			want[Median(sample)] += 1 / float64(total)
		}
		sum := 0.0
		for _, m := range medians(values) {
			got[m.value] += m.p
			sum += m.p
		}
		near(t, "the whole", sum, 1, 1e-12)
		for v, p := range want {
			near(t, "probability of a median", got[v], p, 1e-12)
		}
	}
}
