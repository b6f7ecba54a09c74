// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

// frames: the record holds everything that the workers sent, and it can all have been
// measured.
func frames(e *evidence) Rule {
	expected, received, problems := checkStreams(e)
	contradictions := e.contradictions(true)
	problems = append(contradictions, problems...) // which they explain
	r := Rule{Outcome: passOrInvalid(len(problems) == 0), Rule: certificate.Rule{
		Observed: pointer(float64(received)),
		Limit:    toFloat(expected),
		Detail:   fmt.Sprintf("all %d frames of %d workers were received and their totals agree", received, len(e.plan.Workers)),
	}}
	if len(problems) > 0 {
		r.Detail = joinFirst(problems, 3)
		switch {
		case len(contradictions) > 0:
			r.Advice = "Find out who changed what this source sent, or the record; run again with a build of Assay that you trust on its machine."
		case len(e.losses) > 0:
			r.Advice = rulebook.See(rulebook.WorkerLost)
		}
	}
	return r
}

// contradictions lists those of workers, or of all others: nothing that these send makes a run
// INVALID by itself.
func (e *evidence) contradictions(ofWorkers bool) (all []string) {
	for _, c := range e.Contradictions {
		if metric.IsWorker(c.Source) == ofWorkers {
			all = append(all, fmt.Sprintf("%s contradicts itself: %s", c.Source, c.What))
		}
	}
	return all
}

// checkStreams compares the streams of the plan's workers with their totals. expected
// is nil where a worker did not report how many frames it sent.
func checkStreams(e *evidence) (expected *int64, received int64, problems []string) {
	planned := map[string]bool{}
	sum, known := int64(0), true
	for _, w := range e.workers() {
		planned[w] = true
		s, found := e.streams[w]
		received += int64(s.Frames)
		sent, reported := total(s, metric.WorkerFrames, "")
		sum += int64(sent)
		known = known && reported
		switch {
		case !found:
			problems = append(problems, w+" sent nothing")
		case !s.Closed:
			problems = append(problems, w+" did not report to its end")
		case e.isLost(w):
			problems = append(problems, w+" reported to its end, but did not end by itself")
		case !reported:
			problems = append(problems, w+" closed without its totals")
		case s.Missing > 0:
			problems = append(problems, fmt.Sprintf("%d frames of %s are missing", s.Missing, w))
		case uint64(sent) != s.Frames:
			problems = append(problems, fmt.Sprintf("%s sent %s frames, %d were received", w, number(sent), s.Frames))
		default:
			problems = append(problems, checkTotals(e, s)...)
		}
	}
	for _, s := range e.Timeline.Sources() {
		if metric.IsWorker(s.Name) && !planned[s.Name] {
			problems = append(problems, s.Name+" is not in the plan")
		}
	}
	problems = append(problems, e.nonFinite()...)
	if len(planned) == 0 {
		problems = append(problems, "the plan has no worker")
	}
	if known && len(planned) > 0 {
		expected = &sum
	}
	return expected, received, problems
}

// nonFinite reports counters whose sum is NaN or infinite, with which no comparison is
// valid.
func (e *evidence) nonFinite() (problems []string) {
	var names []string
	for _, d := range metric.Catalogue(func(d metric.Descriptor) bool { return d.From(metric.SourceWorker) }) {
		names = append(names, d.Name)
	}
	for _, of := range metric.Protocols {
		names = append(names, of.Failed+metric.RateTotal, of.Failed+metric.RateOccurred)
	}
	names = append(names, metric.DBSample)
	for _, s := range e.Plan.Profile.AllSLOs() {
		if s.Aggregate == spec.Rate && s.Kind() == spec.KindSamples && !metric.IsRequestFailed(s.Metric) {
			names = append(names, s.Metric+metric.RateTotal, s.Metric+metric.RateOccurred)
		}
	}
	for _, name := range names {
		if v, _ := e.Timeline.Sum(name, nil, record.All); !finite(v) {
			problems = append(problems, name+" is not a finite number")
		}
	}
	return problems
}

// checkTotals compares the totals of a closing frame, one for each metric, with the
// samples in the timeline.
func checkTotals(e *evidence, s record.Source) (problems []string) {
	for _, p := range s.Totals {
		if p.Series.Name != metric.WorkerSamples {
			continue
		}
		name := p.Series.Label("metric")
		if recorded := recordedSamples(e, s.Name, name); recorded != p.Value {
			problems = append(problems, fmt.Sprintf("%s sent %s samples of %s, the record holds %s", s.Name, number(p.Value), name, number(recorded)))
		}
	}
	return problems
}

// recordedSamples counts the samples of a metric from one source: the observations of
// a histogram; else the sum of a counter of samples; else, for a rate NAME, the sum of
// NAME.total.
func recordedSamples(e *evidence, source, name string) float64 {
	if n := e.Timeline.CountOf(source, name); n > 0 {
		return float64(n)
	}
	if n, found := e.Timeline.SumOf(source, name, nil, record.All); found {
		return n
	}
	n, _ := e.Timeline.SumOf(source, name+metric.RateTotal, nil, record.All)
	return n
}

func total(s record.Source, name, metricName string) (float64, bool) {
	for _, p := range s.Totals {
		if p.Series.Name == name && p.Series.Label("metric") == metricName {
			return p.Value, true
		}
	}
	return 0, false
}

// SampleRate is the planned number of samples of the database per second. A collector
// with a rate of its own reports it: Performance Insights has one per second.
func SampleRate(line *record.Timeline, spans []record.Span) float64 {
	for _, span := range spans {
		values, ok := line.Gauge(metric.DBSampleRate, nil, metric.SourceDatabase, span)
		for i, v := range values {
			if ok[i] && v > 0 {
				return v
			}
		}
	}
	return metric.DefaultSampleRate
}

// collector: there are enough samples of the database to show where time went. A
// collector that falls behind is a limitation and does not affect the verdict on SLOs.
func collector(e *evidence) Rule {
	r := Rule{Outcome: Pass, Rule: certificate.Rule{Limit: e.limits.CollectorShare}}
	samples := e.tally(metric.DBSample, nil)
	switch {
	case e.Plan.Database == "":
		r.Detail = "the run had no database to sample"
		r.Limitation = "no database was given: there are no waits, and the bottleneck is undetermined"
		return r
	case !samples.found || e.seconds == 0:
		r.Detail = "no sample of the database was taken" + e.collectorReason(metric.SourceDatabase)
		r.Limitation = r.Detail + ": the bottleneck is undetermined"
		return r
	}
	share := float64(samples.n) / (SampleRate(e.Timeline, e.spans) * float64(e.seconds))
	gap := e.longestGap()
	r.Observed = &share
	r.Detail = fmt.Sprintf("%s of the database samples were taken, with no gap over %s", percent(share), gap)
	if share < *e.limits.CollectorShare || gap > *e.limits.CollectorGap {
		r.Advice = "Check the load on the collector's host, and what delayed the database's answers."
		r.Limitation = fmt.Sprintf("waits are incomplete: %s of the samples, longest gap %s", percent(share), gap)
	}
	return r
}

// longestGap is the longest time without a sample of the database: the longest
// interval that the sampler measured, or, where it was not running, the longest
// sequence of seconds without a sample.
func (e *evidence) longestGap() time.Duration {
	longest := 0.0
	if ms, ok := e.distribution(metric.DBSampleInterval, nil).all.Max(); ok {
		longest = ms
	}
	for _, span := range e.spans {
		empty := 0.0
		for _, n := range e.Timeline.Counts(metric.DBSample, nil, span) {
			if empty += 1000; n > 0 {
				empty = 0
			}
			longest = max(longest, empty)
		}
	}
	return time.Duration(math.Round(longest)) * time.Millisecond
}

// collectorReason is the recorded reason why a collector is not ok, in parentheses.
func (e *evidence) collectorReason(source string) string {
	for _, c := range e.Facts.Collectors {
		if c.Source == source && c.Reason != "" {
			return " (" + c.Reason + ")"
		}
	}
	return ""
}

// data: every SLO has data, and the scenario sends something. A run without must
// neither pass nor fail, unless the system's failure is certain all the same.
func data(e *evidence) Rule {
	if !e.sentAnything() && !e.failed() {
		return Rule{Outcome: Invalid, Rule: certificate.Rule{
			Observed: pointer(0.0),
			Unit:     "requests",
			Detail:   "the scenario sent nothing: no request, and no statement through k6/x/sql",
			Advice:   "Send a request to the system under test in the scenario's default function.",
		}}
	}
	var without []string
	var gauges []metric.Descriptor
	ledger, facts, downgraded := false, "", false
	for _, s := range e.slos {
		if s.Outcome == Invalid || s.Outcome == Inconclusive && s.Samples == nil {
			downgraded = downgraded || s.Outcome == Inconclusive
			without = append(without, s.Name())
			switch of := (spec.SLO{Metric: s.Metric}); of.Kind() {
			case spec.KindSamples:
			case spec.KindGauge:
				gauges = append(gauges, of.Descriptor())
			case spec.KindLedger:
				ledger = true
			default:
				facts = cmp.Or(facts, e.whyNoFacts(s.Metric))
			}
		}
	}
	r := Rule{Outcome: passOrInvalid(len(without) == 0 || downgraded), Rule: certificate.Rule{
		Observed: pointer(float64(len(without))),
		Limit:    pointer(0.0),
		Detail:   fmt.Sprintf("each of %d SLOs has data", len(e.slos)),
	}}
	if len(without) > 0 {
		r.Detail = "no data for " + joinFirst(without, 3)
	}
	reported := map[string]bool{}
	for _, d := range gauges {
		if source := d.Sources[0]; !reported[source] {
			reported[source] = true
			r.Detail += e.collectorReason(source)
			r.Advice = d.Advice
		}
	}
	if ledger && e.Facts.Ledger.State != record.StateOK {
		r.Detail += "; the ledger was not read back: " + cmp.Or(e.Facts.Ledger.Reason, "no reason given")
		r.Advice = "Make the persisted transactions readable (--db, and the profile's query), then run again."
	} else if ledger {
		r.Advice = "Acknowledge each transaction in the scenario with ledger.ack(id)."
	}
	if facts != "" {
		r.Detail += "; " + facts
		r.Advice = "Let the run reach the end of its load, with the faults and invariants of the profile, which must also work by hand."
	}
	if downgraded {
		why := "too many transactions were not completed"
		if e.aborted != nil {
			why = "the run was aborted"
		}
		r.Detail += "; " + why
		r.Advice = "Find out why the system fails, then run again."
		r.Limitation = r.Detail
	}
	return r
}

// whyNoFacts says why the coordinator has no data for an SLO on faults or invariants.
func (e *evidence) whyNoFacts(name string) string {
	if name != metric.Invariants {
		for _, r := range e.recovered {
			if r.Metric == name && r.unseen() {
				return r.unseenText("the effect of " + r.Name())
			}
		}
		switch name {
		case metric.RecoveryTime:
			return "no fault was injected"
		case metric.TimeToScale:
			return "the run had no step up in load"
		}
		return "the run had no overload"
	}
	for _, i := range e.invariants() {
		if i.Rows == nil {
			return fmt.Sprintf("the invariant %q was not checked: %s", i.Name, i.Error)
		}
	}
	return ""
}
