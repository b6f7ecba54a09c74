package verdict

import (
	"math"
	"slices"

	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// lagSource is who sends the lags of readers.
const lagSource = "lag"

// judgeLag decides by the seconds of the judged windows, each by the longest lag
// of any reader. They are counted in this run, as the ledger's lags are: seconds
// that follow each other are too much alike, and too few, to say more. A second
// in which a reader's lag was not read may have broken the bound.
func judgeLag(e *evidence, s spec.SLO) SLO {
	out := newSLO(s, "ms")
	lags, partial, n := e.lags(s.Metric)
	if len(lags)+len(partial) == 0 {
		return out
	}
	inPart := violating(partial, s) // surely, whatever the readers that were not read did
	broken := violating(lags, s) + inPart
	possible := broken + n - int64(len(lags)) - inPart
	allowed := mayViolate(s, n)
	out.Samples, out.Allowed = &n, &allowed
	if broken == possible {
		out.Violations = &broken
	} else {
		out.AtLeast, out.AtMost = &broken, &possible
	}
	out.Observed = lagQuantile(slices.Concat(lags, partial), s)
	out.Outcome = byCount(broken, possible, allowed)
	return out
}

func violating(lags []float64, s spec.SLO) (n int64) {
	for _, lag := range lags {
		if s.Violates(lag) {
			n++
		}
	}
	return n
}

// lags are the longest lag of each judged second: of those in which all readers
// were read, and of those in which some were. n is the number of judged seconds.
func (e *evidence) lags(name string) (lags, partial []float64, n int64) {
	readers := 1
	if name == metric.ReplicaLag {
		readers = max(1, len(e.Plan.Readers))
	}
	for _, span := range e.spans {
		n += max(0, span.Seconds())
		longest, seen := e.longestLags(name, span)
		for i, lag := range longest {
			switch {
			case seen[i] >= readers:
				lags = append(lags, lag)
			case seen[i] > 0:
				partial = append(partial, lag)
			}
		}
	}
	return lags, partial, n
}

func (e *evidence) longestLags(name string, span record.Span) (longest []float64, seen []int) {
	seconds := max(0, span.Seconds())
	longest, seen = make([]float64, seconds), make([]int, seconds)
	for _, series := range e.Timeline.Series(name) {
		values, ok := e.Timeline.Gauge(name, label("reader", series.Label("reader")), lagSource, span)
		for i, v := range values {
			if ok[i] && !math.IsNaN(v) && !math.IsInf(v, 0) {
				longest[i] = max(longest[i], v)
				seen[i]++
			}
		}
	}
	return longest, seen
}

// lagQuantile is the order statistic that the SLO bounds.
func lagQuantile(lags []float64, s spec.SLO) *float64 {
	q := 1.0
	if s.Aggregate == spec.Percentile {
		q = s.Quantile
	}
	slices.Sort(lags)
	rank := int(math.Ceil(q*float64(len(lags)) - 1e-9))
	return &lags[min(max(rank, 1), len(lags))-1]
}
