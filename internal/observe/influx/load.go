package influx

import (
	"cmp"
	"fmt"
	"math"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

func (s *second) transactions() {
	for _, flow := range s.flows {
		var f fields
		errors := flow.ended[metric.Failed] + flow.ended[metric.TimedOut] + flow.ended[metric.Dropped]
		count := errors + flow.ended[metric.Completed]
		f.outcome(count, flow.known, errors, count, flow.known)
		f.distribution(s.hist(metric.TransactionDuration, flow.selector...))
		s.add("transaction", f, "name", "transaction", "scenario", flow.scenario)
	}
}

// outcome adds how many there were, and how many of all failed.
func (f *fields) outcome(count float64, counted bool, failed, all float64, known bool) {
	f.add("count", count, counted)
	f.add("rate", count, counted)
	f.add("errors", failed, known)
	f.ratio("error_rate", failed, all, known)
}

func (s *second) requests() {
	for _, of := range metric.Protocols {
		s.requestsOf(of)
	}
}

// requestsOf makes a point for each name of requests; equal names of two flows are apart, and
// those of two protocols.
func (s *second) requestsOf(of *metric.Protocol) {
	keys := []string{"name"}
	if s.Plan.Profile.Named() {
		keys = append(keys, "scenario")
	}
	for _, group := range s.groups(of.Duration(), keys...) {
		h := s.hist(of.Duration(), group...)
		failed, found := s.sum(of.Failed+metric.RateOccurred, group...)
		all, _ := s.sum(of.Failed+metric.RateTotal, group...)
		var f fields
		count := float64(h.Count())
		f.outcome(count, count > 0, failed, all, found)
		f.distribution(h)
		tags := []string{"name", cmp.Or(group[0].Value, "other")} // overflow: more names than metric.MaxSeries
		if of != metric.HTTP {
			tags = append(tags, "protocol", of.Name)
		}
		s.add("request", f, append(tags, tagsOf(group[1:])...)...) // no scenario: of setup() or teardown(), or overflow
	}
}

func (s *second) arrivals() {
	for _, flow := range s.flows {
		var f fields
		f.add("target", meanRate(flow.plan.Stages, s.offset()), s.offset() >= 0 && s.offset() < flow.plan.Duration())
		scheduled, found := s.sum(metric.TransactionsScheduled, flow.selector...)
		f.add("scheduled", scheduled, found)
		f.add("started", started(flow.ended), flow.known)
		for _, outcome := range metric.Outcomes {
			f.add(outcome, flow.ended[outcome], flow.known)
		}
		lag, ok := s.hist(metric.GeneratorLag, flow.selector...).Quantile(0.99)
		f.add("wakeup_lag_p99", lag, ok)
		queueing, ok := s.hist(metric.ArrivalQueueing, flow.selector...).Quantile(0.99)
		f.add("queueing_p99", queueing, ok)
		s.add("arrival", f, "scenario", flow.scenario)
	}
}

// slos makes a point for each SLO that is decided by samples.
func (s *second) slos() {
	for _, slo := range s.Plan.Profile.AllSLOs() {
		if slo.Kind() != spec.KindSamples {
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
		s.add(measurement, f, "slo", slo.ID(), "metric", slo.Metric, "aggregate", aggregate(slo), "scenario", slo.Flow)
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

// sessions makes a point for each wait event, over all statements.
func (s *second) sessions() {
	samples, sampled := s.sum(metric.DBSample)
	var total fields
	total.add("samples", samples, sampled)
	s.add("db_session", total)
	for _, group := range s.groups(metric.DBSession, "event", "class", "inferred") {
		n, found := s.sum(metric.DBSession, group...)
		active := n / samples
		var f fields
		f.add("sessions", n, found)
		f.add("aas", active, found && samples > 0)
		f.ratio("ms_per_transaction", active*1000, s.started(), found && samples > 0)
		s.add("db_session", f, append(tagsOf(group), "inferred", "false")...)
	}
}

func (s *second) statements() {
	for _, group := range s.groups(metric.DBStatementTime, "digest", "statement") {
		ms, found := s.sum(metric.DBStatementTime, group...)
		count, counted := s.sum(metric.DBStatements, group...)
		var f fields
		f.add("count", count, counted)
		f.add("ms", ms, found)
		f.ratio("mean", ms, count, found && counted)
		f.ratio("ms_per_transaction", ms, s.started(), found)
		s.add("db_statement", f, tagsOf(group)...)
	}
}
