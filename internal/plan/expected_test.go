package plan

import (
	"math"
	"testing"
	"time"

	"assay.dev/assay/internal/spec"
)

// By the end of each stage all of its arrivals are due, and in between no fewer than before.
func TestExpectedBy(t *testing.T) {
	p, err := New(spec.Profile{Name: "day", Flows: []spec.Flow{{Timeout: time.Second, Load: spec.Load{Unit: "tps", Stages: []spec.Stage{
		{Rate: 10, For: 10 * time.Second}, {Rate: 100, Ramp: 10 * time.Second, For: 20 * time.Second, Judge: true},
	}}}}}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	due, last := 0.0, 0.0
	for _, s := range p.Stages {
		due += float64(s.Arrivals)
		for at := s.Start; at <= s.End(); at += 100 * time.Millisecond {
			n := p.ExpectedBy(at)
			if n < last {
				t.Fatalf("%g by %s, %g before", n, at, last)
			}
			last = n
		}
		if math.Abs(last-due) > 1e-6*due {
			t.Errorf("%g by the end of %s, want %g", last, s.Name, due)
		}
	}
	if got := p.ExpectedBy(time.Hour); math.Abs(got-float64(p.Arrivals())) > 1e-6*got || p.ExpectedBy(0) != 0 {
		t.Errorf("%g in all, want %d", got, p.Arrivals())
	}
}
