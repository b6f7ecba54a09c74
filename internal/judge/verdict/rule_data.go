// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

// SampleRate is the planned number of samples of the database per second. A collector
// with a rate of its own reports it: Performance Insights has one per second.
func SampleRate(line *record.Timeline, spans []record.Span) float64 {
	for _, v := range gaugeValues(line, metric.SourceDatabase, metric.DBSampleRate, spans...) {
		if v > 0 {
			return v
		}
	}
	return metric.DefaultSampleRate
}

// collector: there are enough samples of the database to show where time went. A
// collector that falls behind is a limitation and does not affect the verdict on SLOs.
func collector(p *part) Rule {
	r := Rule{Rule: certificate.Rule{Limit: p.limits.CollectorShare}}
	samples := p.tally(metric.DBSample, nil)
	switch {
	case p.Plan.Database == "":
		r.Detail = "the run had no database to sample"
		r.Limitation = "no database was given: there are no waits, and the bottleneck is undetermined"
		return r
	case !samples.found || p.seconds == 0:
		r.Detail = "no sample of the database was taken" + collectorReason(p.evidence, metric.SourceDatabase)
		r.Limitation = r.Detail + ": the bottleneck is undetermined"
		return r
	}
	share := float64(samples.n) / (SampleRate(p.Timeline, p.spans) * float64(p.seconds))
	gap := longestGap(p.evidence)
	r.Observed = &share
	r.Detail = fmt.Sprintf("%s of the database samples were taken, with no gap over %s", percent(share), gap)
	if share < *p.limits.CollectorShare || gap > *p.limits.CollectorGap {
		r.Advice = "Check the load on the collector's host, and what delayed the database's answers."
		r.Limitation = fmt.Sprintf("waits are incomplete: %s of the samples, longest gap %s", percent(share), gap)
	}
	return r
}

// longestGap is the longest time without a sample of the database: the longest
// interval that the sampler measured, or, where it was not running, the longest
// sequence of seconds without a sample.
func longestGap(e *evidence) time.Duration {
	longest, _ := e.distribution(metric.DBSampleInterval, nil).all.Max()
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
func collectorReason(e *evidence, source string) string {
	for _, c := range e.Facts.Collectors {
		if c.Source == source && c.Reason != "" {
			return " (" + c.Reason + ")"
		}
	}
	return ""
}

// data: every SLO has data. A run without must neither pass nor fail, unless the system's
// failure is certain all the same.
func data(p *part) Rule {
	var without []string
	ledger, facts, downgraded := false, "", false
	reported, reasons := map[string]bool{}, ""
	r := Rule{Rule: certificate.Rule{Limit: new(0.0)}}
	for _, s := range p.slos {
		if s.Outcome != Invalid && (s.Outcome != Inconclusive || s.Samples != nil) {
			continue
		}
		downgraded = downgraded || s.Outcome == Inconclusive
		without = append(without, s.Name())
		switch of := (spec.SLO{Metric: s.Metric}); of.Kind() {
		case spec.KindSamples:
		case spec.KindGauge:
			if d := of.Descriptor(); !reported[d.Sources[0]] {
				reported[d.Sources[0]] = true
				reasons += collectorReason(p.evidence, d.Sources[0])
				r.Advice = d.Advice
			}
		case spec.KindLedger:
			ledger = true
		default:
			facts = cmp.Or(facts, whyNoFacts(p, s.Metric))
		}
	}
	r.Observed, r.Outcome = new(float64(len(without))), passOrInvalid(len(without) == 0 || downgraded)
	if all := doubts(p.Run); len(without) == 0 && len(all) > 0 && lostWrites(p.Run) == 0 && !p.Facts.Ledger.Unfinished {
		r.Outcome, r.Detail, r.Advice = Invalid, all[0].why, all[0].advice // whether or not an SLO judges the ledger
		return r
	}
	if len(without) == 0 {
		r.Detail = fmt.Sprintf("each of %d SLOs has data", len(p.slos))
		return r
	}
	r.Detail = "no data for " + joinFirst(without, 3) + reasons
	if ledger && p.Facts.Ledger.State != record.StateOK {
		r.Detail += "; the ledger was not read back: " + cmp.Or(p.Facts.Ledger.Reason, "no reason given")
		r.Advice = "Make the persisted transactions readable (--db, and the profile's query), then run again."
	} else if why, advice := whyNoLedger(p); ledger && why != "" {
		r.Detail = why + ": no verdict on " + strings.TrimPrefix(r.Detail, "no data for ")
		r.Advice = advice
	} else if ledger {
		r.Advice = "Acknowledge each transaction in the scenario with ledger.ack(id)."
	}
	if sentNothing(p.evidence) > 0 {
		r.Advice = rulebook.See(rulebook.Script)
	}
	if facts != "" {
		r.Detail += "; " + facts
		r.Advice = "Let the run reach the end of its load, with the faults and invariants of the profile, which must also work by hand."
	}
	if downgraded {
		why := "too many transactions were not completed"
		if p.aborted != nil {
			why = "the run was aborted"
		}
		r.Detail += "; " + why
		r.Advice = "Find out why the system fails, then run again."
		r.Limitation = r.Detail
	}
	return r
}

// whyNoFacts says why the coordinator has no data for an SLO on faults or invariants.
func whyNoFacts(p *part, name string) string {
	if name == metric.Invariants {
		for _, i := range describeInvariants(p.evidence) {
			if i.Rows == nil {
				return fmt.Sprintf("the invariant %q was not checked: %s", i.Name, i.Error)
			}
		}
		return ""
	}
	for _, r := range p.recovered {
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

// faultsInjected: the run did to the system what the profile says.
func faultsInjected(p *part) Rule {
	planned := p.Plan.Profile.Faults
	var problems []string
	for i, f := range planned {
		var fact record.Fault
		if i < len(p.Facts.Faults) {
			fact = p.Facts.Faults[i]
		}
		switch {
		case fact.EndError != "":
			problems = append(problems, fmt.Sprintf("fault %d (%s) could not be ended: %s", i+1, f, fact.EndError))
		case fact.Error != "" || fact.At.IsZero():
			problems = append(problems, fmt.Sprintf("fault %d (%s) was not injected: %s", i+1, f, cmp.Or(fact.Error, "no reason given")))
		}
	}
	injected := len(planned) - len(problems)
	r := Rule{Rule: certificate.Rule{Observed: new(float64(injected)), Limit: new(float64(len(planned)))}}
	r.Detail = fmt.Sprintf("%d of %d faults were injected and ended", injected, len(planned))
	if len(problems) > 0 {
		r.Outcome, r.Detail = Invalid, joinFirst(problems, 3)
	}
	return r
}
