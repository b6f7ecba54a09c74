package compare

import (
	"math/rand/v2"
	"testing"
)

// Few of the runs that do not differ stand out by chance in a metric, however few there are.
func TestOutliersByChance(t *testing.T) {
	const trials = 4000
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{5, 6, 8, 10, 12, 20, 40} {
		found := 0
		for range trials {
			values := make([]float64, n)
			for i := range values {
				values[i] = random.NormFloat64() * 0.05
			}
			if i, _ := farthest(values, 0.03); i >= 0 {
				found++
			}
		}
		if share := float64(found) / trials; share > 0.04 {
			t.Errorf("%.1f %% of %d runs", share*100, n)
		}
	}
}
