package verdict

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// ranks are the outcomes from the best to the worst.
var ranks = []Outcome{Pass, Inconclusive, Fail}

// outage is a certificate of 600 s at 50/s, with a stall of so many seconds after so many healthy
// ones, in which every transaction takes 9 s.
func outage(basis spec.Basis, after, lasts float64) *synthetic.Case {
	p := synthetic.Profile()
	p.Flows[0].Load.Target, p.Flows[0].Load.Baseline.Rate, p.Flows[0].Load.Hold = 50, 10, 600*time.Second
	slo := synthetic.Percentile(metric.TransactionDuration, 95, 250)
	slo.Basis = basis
	p.Flows[0].SLOs = []spec.SLO{slo}
	before := 2*10 + 10*10 + 4*30 // warm-up, baseline and ramp
	from, to := int64(float64(before)+after*50), int64(float64(before)+(after+lasts)*50)
	rng := rand.New(rand.NewPCG(uint64(lasts*10), uint64(after)))
	c := synthetic.New(p, 1, func(n int64) (float64, string) {
		if n >= from && n < to {
			return 9000, metric.Completed
		}
		return 10 + 20*rng.ExpFloat64(), metric.Completed
	})
	c.Run.Plan.Scope = spec.ScopeCertificate
	return c
}

// A longer outage never improves the verdict: it makes the samples more correlated, so that they
// are too few to infer anything, which is no reason to count them instead.
func TestLongerOutageIsNeverBetter(t *testing.T) {
	for _, after := range []float64{0, 30, 299.5, 560} {
		worst, at := 0, 0.0
		for _, lasts := range []float64{0, 0.2, 0.5, 1, 1.4, 2, 3, 4, 5, 6, 8, 10, 12, 14, 17, 20, 25, 29, 32, 40} {
			v := Judge(outage("", after, lasts).Record())
			rank := slices.Index(ranks, v.Outcome)
			switch {
			case rank < 0:
				t.Fatalf("%g s from %g s on: %v: %s", lasts, after, v.Outcome, v.Claim)
			case rank < worst:
				t.Errorf("from %g s on, %g s: %v: %s; %g s: %v", after, lasts, v.Outcome, v.Claim, at, ranks[worst])
			case rank > worst:
				worst, at = rank, lasts
			}
			if s := v.SLOs[0]; v.Outcome == Pass && s.Basis != spec.Inferred {
				t.Errorf("%g s from %g s on: %s", lasts, after, v.Claim)
			}
			if v.Outcome == Pass && lasts > 6 {
				t.Errorf("%g s from %g s on pass: %s", lasts, after, v.Claim)
			}
			if v.Outcome != Pass && lasts <= 1 {
				t.Errorf("%g s from %g s on: %s", lasts, after, v.Claim)
			}
		}
	}
}

// What a certificate counts by choice stands in the first words of its claim.
func TestCertificateThatCounts(t *testing.T) {
	v := Judge(outage(spec.Counted, 300, 10).Record())
	if v.Outcome != Pass || !strings.HasPrefix(v.Claim, "Counted in this run only, by the profile's choice (p95 and throughput): synthetic sustained 50") {
		t.Errorf("%v: %s", v.Outcome, v.Claim)
	}
}

// One hiccup, with a sixteenth of the violations that p99 allows, costs no certificate, whenever it
// comes: at most it takes another hold.
func TestHiccup(t *testing.T) {
	for _, after := range []float64{29.9, 123.4} {
		p := synthetic.Profile()
		p.Flows[0].Load = spec.Load{Unit: "tps", Target: 500, Hold: 600 * time.Second, HoldMax: 1800 * time.Second}
		p.Flows[0].SLOs = []spec.SLO{synthetic.Percentile(metric.TransactionDuration, 99, 250)}
		from, to := int64(after*500), int64((after+0.4)*500)
		rng := rand.New(rand.NewPCG(uint64(from), 1))
		c := synthetic.New(p, 1, func(n int64) (float64, string) {
			if n >= from && n < to {
				return 400, metric.Completed
			}
			return 10 + 20*rng.ExpFloat64(), metric.Completed
		})
		c.Run.Plan.Scope = spec.ScopeCertificate
		load := c.Run.Plan.Load
		for look := 1; ; look++ {
			c.Run.Facts.Look, c.Run.Plan.Load = look, load.At(look)
			v := Judge(c.Record())
			s := v.SLOs[0]
			if *s.Violations < 150 || s.Outcome == Fail || look == 3 && s.Outcome != Pass {
				t.Errorf("after %g s, look %d: %v, %s", after, look, s.Outcome, v.Claim)
			}
			if s.Outcome == Pass || look == 3 {
				break
			}
		}
	}
}
