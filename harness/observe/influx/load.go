package influx

import (
	"fmt"
	"math"

	"assay/harness/observe/metric"
	"assay/harness/spec"
)

func (s *second) transactions() {
	var f fields
	errors := s.ended[metric.Failed] + s.ended[metric.TimedOut] + s.ended[metric.Dropped]
	count := errors + s.ended[metric.Completed]
	f.add("count", count, s.known)
	f.add("rate", count, s.known)
	f.add("errors", errors, s.known)
	f.ratio("error_rate", errors, count, s.known)
	f.distribution(s.hist(metric.TransactionDuration))
	s.add("transaction", f, "name", "transaction")
}

func (s *second) requests() {
	for _, group := range s.groups(metric.RequestDuration, "name") {
		h := s.hist(metric.RequestDuration, group...)
		failed, found := s.sum(metric.RequestFailed+metric.RateOccurred, group...)
		all, _ := s.sum(metric.RequestFailed+metric.RateTotal, group...)
		var f fields
		count := float64(h.Count())
		f.add("count", count, count > 0)
		f.add("rate", count, count > 0)
		f.add("errors", failed, found)
		f.ratio("error_rate", failed, all, found)
		f.distribution(h)
		name := group[0].Value
		if name == "" {
			name = "other" // overflow: more names than metric.MaxSeries
		}
		s.add("request", f, "name", name)
	}
}

func (s *second) arrivals() {
	var f fields
	f.add("target", meanRate(s.Plan.Load.Stages, s.offset()), s.planned())
	scheduled, found := s.sum(metric.TransactionsScheduled)
	f.add("scheduled", scheduled, found)
	f.add("started", s.started(), s.known)
	for _, outcome := range metric.Outcomes {
		f.add(outcome, s.ended[outcome], s.known)
	}
	lag, ok := s.hist(metric.GeneratorLag).Quantile(0.99)
	f.add("wakeup_lag_p99", lag, ok)
	queueing, ok := s.hist(metric.ArrivalQueueing).Quantile(0.99)
	f.add("queueing_p99", queueing, ok)
	s.add("arrival", f)
}

// slos makes a point for each SLO that is decided by samples.
func (s *second) slos() {
	for _, slo := range s.Plan.Profile.SLOs {
		if !slo.Sampled() {
			continue
		}
		label := metric.Label{Key: "slo", Value: slo.ID()}
		samples, judged := s.sum(metric.Judged, label)
		violations, _ := s.sum(metric.Violations, label) // 0 if absent
		var f fields
		f.add("limit", slo.Bound, s.planned())
		f.add("allowed", allowed(slo), s.planned())
		f.add("samples", samples, judged)
		f.add("violations", violations, judged)
		f.ratio("violation_rate", violations, samples, judged)
		measurement := "request"
		if slo.OfTransactions() {
			measurement = "transaction"
		}
		s.add(measurement, f, "slo", slo.ID(), "metric", slo.Metric, "aggregate", aggregate(slo))
	}
}

func aggregate(s spec.SLO) string {
	if s.Aggregate == spec.Percentile {
		return fmt.Sprintf("p%.6g", s.Quantile*100)
	}
	return string(s.Aggregate)
}

// allowed is the largest share of violations with which an SLO holds.
func allowed(s spec.SLO) float64 {
	share := 0.0
	switch {
	case s.Aggregate == spec.Percentile:
		share = 1 - s.Quantile
	case s.Aggregate == spec.Rate && (s.Operator == ">" || s.Operator == ">="):
		share = 1 - s.Bound
	case s.Aggregate == spec.Rate:
		share = s.Bound
	}
	return math.Round(share*1e9) / 1e9 // 1 - 0.95 is not exactly 0.05
}
