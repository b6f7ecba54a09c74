package synthetic

import (
	"crypto/sha256"
	"fmt"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// trace adds the exemplars of a run whose requests are marked: of each frame the first
// transaction, and one that did not complete or is slow, if there is any; of all a tenth are
// sampled.
func (c *Case) trace(system System) {
	c.Run.Plan.Profile.Marking = spec.DefaultMarking
	n := int64(0)
	for second, scheduled := range Arrivals(c.Run.Plan.Load) {
		seen := map[string]bool{} // by what is wrong
		for i := range scheduled {
			n++
			latency, outcome := system(n)
			x := metric.Exemplar{
				TraceID: traceID(n),
				Nanos:   T0.UnixNano() + int64(second)*1e9 + i*1e9/scheduled, Value: latency,
			}
			if outcome != metric.Completed {
				x.Labels = append(x.Labels, metric.Label{Key: metric.ExemplarOutcome, Value: outcome}, metric.Label{Key: metric.ExemplarError, Value: "HTTP 500"})
			}
			if n%10 == 0 {
				x.Labels = append(x.Labels, metric.Label{Key: metric.ExemplarSampled, Value: "true"})
			}
			var violated []string
			for _, s := range c.Run.Plan.Profile.WholeSLOs() {
				if s.OfTransactions() && (outcome != metric.Completed || s.Violates(latency)) {
					violated = append(violated, s.ID())
				}
			}
			x.Labels = append(x.Labels, metric.ViolatesLabels(violated)...)
			if wrong := fmt.Sprint(outcome, violated); !seen[wrong] {
				seen[wrong] = true
				c.exemplar(int64(second), n, x)
			}
		}
	}
}

// exemplar adds one to the durations of a worker in a second.
func (c *Case) exemplar(second, n int64, x metric.Exemplar) {
	worker := metric.WorkerSource(int(n) % len(c.Run.Plan.Load.Workers))
	for _, f := range c.Frames {
		if f.Source != worker || f.Closing || f.Second != T0.Unix()+second {
			continue
		}
		for i, p := range f.Points {
			if p.Series.Name == metric.TransactionDuration {
				f.Points[i].Exemplars = append(p.Exemplars, x)
			}
		}
	}
}

func traceID(n int64) [16]byte {
	sum := sha256.Sum256(fmt.Append(nil, n))
	return [16]byte(sum[:16])
}
