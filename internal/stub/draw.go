package stub

import (
	"math/rand/v2"
	"time"

	"github.com/cespare/xxhash/v2"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// fate is what becomes of a call, apart from the rate limit.
type fate struct {
	outcome string         // metric.StubAnswered, StubError, StubHung or StubReset
	answer  spec.StubError // status and body, where there is an answer
	latency time.Duration  // latency of the work, without the factor of a phase
}

// draw is the fate of the nth call of an endpoint. It depends on nothing else but the seed;
// the draws are always the same ones, so that other shares of failures do not change the
// latencies.
func draw(seed uint64, e spec.StubEndpoint, n uint64) fate {
	random := rand.New(rand.NewPCG(seed^xxhash.Sum64String(e.Name), n))
	end, z := random.Float64(), random.NormFloat64()
	f := fate{outcome: metric.StubAnswered, answer: spec.StubError{Status: e.Status, Body: e.Body}, latency: e.Latency.At(z)}
	for _, c := range []struct {
		outcome string
		share   float64
	}{{metric.StubHung, e.Hang}, {metric.StubReset, e.Reset}} {
		if end -= c.share; end < 0 {
			f.outcome, f.answer = c.outcome, spec.StubError{}
			return f
		}
	}
	for _, failure := range e.Errors {
		if end -= failure.Rate; end < 0 {
			f.outcome, f.answer = metric.StubError, failure
			return f
		}
	}
	return f
}
