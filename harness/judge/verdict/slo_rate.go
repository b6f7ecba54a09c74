package verdict

import (
	"assay/harness/judge/stats"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// judgeRate decides a share by the binomial test. Rates have exact counters
// always: those of the SLO, or the two of the metric itself.
func judgeRate(e *evidence, s spec.SLO) SLO {
	out := newSLO(s, "share")
	lowerBound := s.Operator == ">" || s.Operator == ">="
	broken := counters(e, s)
	totals := e.counts(s.Metric+metric.RateTotal, s.Selector)
	if samples := stats.Sum(broken).N; samples == 0 || samples < sum(totals) {
		broken = e.beside(totals, e.counts(s.Metric+metric.RateOccurred, s.Selector))
		if lowerBound {
			for i := range broken {
				broken[i].K = broken[i].N - broken[i].K
			}
		}
	}
	total := stats.Sum(broken)
	if total.N == 0 {
		return out
	}
	out.count(broken, broken)
	series := e.latencyOf(s)
	out.test(allowedShare(s), broken, broken, series)
	share := total.K / total.N
	out.Observed = &share
	deff := effect(broken, series)
	if lower, upper := stats.Share(total.N/deff, total.K/deff); lower <= share && share <= upper {
		out.Lower, out.Upper = &lower, &upper
	}
	if lowerBound {
		share = (total.N - total.K) / total.N
		if out.Lower != nil {
			out.Lower, out.Upper = pointer(1-*out.Upper), pointer(1-*out.Lower)
		}
	}
	return out
}

// latencyOf is the series whose design effect a rate with few violations takes:
// that of its requests, else the transaction's.
func (e *evidence) latencyOf(s spec.SLO) distribution {
	if s.Metric == requestFailed {
		if d := e.distribution(requestDuration, s.Selector); d.all.Count() > 0 {
			return d
		}
	}
	return e.distribution(metric.TransactionDuration, nil)
}

// judgeThroughput decides the implicit SLO: a system that answers the arrivals
// it took in time but leaves others does not sustain the rate. The schedule
// holds an exact number of arrivals, so that its chance does not decide: with
// less than the share completed, in all windows or in one, the rate was not
// sustained. That it would be again is another matter, and takes the interval of
// the share over batches.
func judgeThroughput(e *evidence) SLO {
	out := SLO{Metric: ThroughputMetric, Expression: ThroughputExpression, Unit: "share", Limit: minThroughput, Outcome: Invalid}
	completed := e.ended[metric.Completed]
	share := ratio(completed, e.scheduled)
	if share == nil {
		return out
	}
	out.Observed, out.Samples = share, &e.scheduled.n
	out.Violations = pointer(e.scheduled.n - completed.n)
	batches := e.beside(e.counts(metric.TransactionsScheduled, nil), e.counts(metric.Transactions, label("outcome", metric.Completed)))
	out.Outcome = Inconclusive
	if _, lower, upper, ok := stats.Ratio(batches); ok {
		out.Lower, out.Upper = pointer(max(0, lower)), pointer(min(1, upper))
		if lower >= minThroughput {
			out.Outcome = Pass
		}
	}
	if *share < minThroughput {
		out.Outcome = Fail
	}
	for i, window := range byWindow(batches) {
		if total := stats.Sum(window); total.K/total.N < minThroughput {
			out.failIn(i)
		}
	}
	return out
}

func sum(all []float64) (total float64) {
	for _, v := range all {
		total += v
	}
	return total
}
