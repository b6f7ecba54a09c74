package model

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Bounds are numbers that thresholds.json takes, whatever was measured: without an exponent,
// of times at most a day, of shares below 1.
func TestBoundsAreValid(t *testing.T) {
	form := regexp.MustCompile(`^p\((95|99)\)<[0-9]+(\.[0-9]+)?$`)
	rapid.Check(t, func(rt *rapid.T) {
		p95 := rapid.Float64Range(0, 86_400_000).Draw(rt, "p95, ms")
		l := &Latency{P95: p95, P99: rapid.Float64Range(p95, 86_400_000).Draw(rt, "p99, ms")}
		for _, condition := range conditions(l, 0.01)[:2] {
			_, text, _ := strings.Cut(condition.String(), "<")
			bound, err := strconv.ParseFloat(text, 64)
			if err != nil || !form.MatchString(condition.String()) || bound < leastLatency || bound > longestLatency {
				rt.Fatalf("condition %s", condition)
			}
		}
		failed := rapid.Float64Range(0, 1).Draw(rt, "share that failed")
		if bound := mostFailing(failed); bound < leastErrors || bound > mostErrors || failed <= mostFailed && bound < failed {
			rt.Fatalf("at most %g may fail where %g did", bound, failed)
		}
	})
	for failed, want := range map[float64]string{0: "0.01", 0.004: "0.01", 0.02: "0.04", 0.3: "0.6", 0.49: "0.9", 0.6: "0.01", 1: "0.01"} {
		if got := plain(mostFailing(failed)); got != want {
			t.Errorf("%s may fail where %g did, want %s", got, failed, want)
		}
	}
	if got := fmt.Sprint(conditions(&Latency{P95: 700_000, P99: 80_000_000}, 0.04)); got != "[p(95)<1200000 p(99)<86400000 rate<0.04]" {
		t.Error(got)
	}
}
