// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

// frames: the record holds everything that the workers sent, and it can all have been
// measured.
func frames(p *part) Rule {
	expected, received, problems := checkStreams(p.evidence)
	contradictions := contradicted(p.evidence, true)
	problems = append(contradictions, problems...) // which they explain
	r := Rule{Rule: certificate.Rule{
		Observed: new(float64(received)),
		Limit:    toFloat(expected),
		Detail:   fmt.Sprintf("all %d frames of %d workers were received and their totals agree", received, len(p.plan.Workers)),
	}}
	if len(problems) > 0 {
		r.Outcome, r.Detail = Invalid, joinFirst(problems, 3)
		switch {
		case len(contradictions) > 0:
			r.Advice = "Find out who changed what this source sent, or the record; run again with a build of Assay that you trust on its machine."
		case len(losses(p.evidence)) > 0:
			r.Advice = rulebook.See(rulebook.WorkerLost)
		}
	}
	return r
}

// contradicted lists the contradictions of workers, or of all others: nothing that these send
// makes a run INVALID by itself.
func contradicted(e *evidence, ofWorkers bool) (all []string) {
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
	planned, streams := map[string]bool{}, e.streams()
	sum, known := int64(0), true
	for _, w := range e.workers() {
		planned[w] = true
		s := streams[w]
		received += int64(s.Frames)
		sent, reported := total(s, metric.WorkerFrames)
		sum += int64(sent)
		known = known && reported
		problem := ""
		switch {
		case s.Name == "":
			problem = w + " sent nothing"
		case !s.Closed:
			problem = w + " did not report to its end"
		case isLost(e, w):
			problem = w + " reported to its end, but did not end by itself"
		case !reported:
			problem = w + " closed without its totals"
		case s.Missing > 0:
			problem = fmt.Sprintf("%d frames of %s are missing", s.Missing, w)
		case uint64(sent) != s.Frames:
			problem = fmt.Sprintf("%s sent %s frames, %d were received", w, number(sent), s.Frames)
		default:
			problems = append(problems, checkTotals(e, s)...)
			continue
		}
		problems = append(problems, problem)
	}
	for _, source := range slices.Sorted(maps.Keys(streams)) {
		if metric.IsWorker(source) && !planned[source] {
			problems = append(problems, source+" is not in the plan")
		}
	}
	problems = append(problems, nonFinite(e)...)
	if len(planned) == 0 {
		return nil, received, append(problems, "the plan has no worker")
	}
	if known {
		expected = &sum
	}
	return expected, received, problems
}

// nonFinite reports counters whose sum is NaN or infinite, with which no comparison is
// valid.
func nonFinite(e *evidence) (problems []string) {
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

// total is a number that the closing frame of a stream states of all of it.
func total(s record.Source, name string) (float64, bool) {
	for _, p := range s.Totals {
		if p.Series.Name == name && p.Series.Label("metric") == "" {
			return p.Value, true
		}
	}
	return 0, false
}

// seeCause is the advice on what a worker does not report if it does not report to its
// end: to see the rule that says why.
func seeCause(e *evidence, worker string) string {
	if isLost(e, worker) {
		return rulebook.See(rulebook.WorkerLost)
	}
	return rulebook.See(rulebook.Frames)
}

// seeded: every worker drew arrivals and data from the plan's seed, so that the run
// can be repeated.
func seeded(p *part) Rule {
	seed := strconv.FormatUint(p.plan.Seed, 10)
	r := Rule{Rule: certificate.Rule{
		Detail: fmt.Sprintf("arrivals and data of all %d workers are drawn from the recorded seed %s", len(p.plan.Workers), seed),
	}}
	var other []string
	streams := p.streams()
	for _, w := range p.workers() {
		s := streams[w]
		if !s.Closed { // the seed is in its last frame
			other = append(other, w+" did not report to its end, where it names its seed")
			r.Advice = seeCause(p.evidence, w)
			continue
		}
		reported := "none"
		for _, point := range s.Totals {
			if point.Series.Name == metric.WorkerSeed {
				reported = point.Series.Label("seed")
			}
		}
		if reported != seed {
			other = append(other, fmt.Sprintf("%s reports seed %s", w, reported))
		}
	}
	if len(p.plan.Workers) == 0 {
		r.Outcome, r.Detail = Invalid, fmt.Sprintf("the plan's seed is %s: ", seed)
	} else if len(other) > 0 {
		r.Outcome, r.Detail = Invalid, fmt.Sprintf("the plan's seed is %s: %s", seed, joinFirst(other, 3))
	}
	return r
}

// startSkew: the workers started together. It compares by how much each was late for
// its first slot, as their schedules do not start with the same slot.
func startSkew(p *part) Rule {
	r := Rule{Outcome: Invalid, Rule: certificate.Rule{Limit: new(float64(rulebook.MaxSkewMs))}}
	first, last, missing, streams := math.Inf(1), math.Inf(-1), "", p.streams()
	for _, w := range p.workers() {
		if late, reported := total(streams[w], metric.WorkerStartDelay); reported {
			first, last = min(first, late), max(last, late)
		} else if n, _ := p.Timeline.SumOf(w, metric.TransactionsScheduled, nil, record.All); n > 0 || len(p.plan.Workers) == 1 {
			missing = w // a worker without any slot, in a small schedule, has no first one
		}
	}
	switch {
	case missing != "" && !streams[missing].Closed:
		r.Detail, r.Advice = missing+" did not report to its end, where it names the delay of its first arrival", seeCause(p.evidence, missing)
	case missing != "":
		r.Detail = missing + " did not report its first arrival"
	case first > last:
		r.Detail = "no worker started a transaction"
	default:
		r.Observed, r.Outcome = new(last-first), passOrInvalid(last-first <= rulebook.MaxSkewMs)
		r.Detail = fmt.Sprintf("the workers' first arrivals were at most %s ms apart, relative to their schedules", number(last-first))
	}
	return r
}
