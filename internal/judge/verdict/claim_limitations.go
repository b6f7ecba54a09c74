// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

// limitations are what a reader of the claim must also know.
func limitations(p *part, rules []Rule, weighing []string) (all []string) {
	add := func(texts ...string) { all = append(all, texts...) }
	perFlow := func(texts func(*part) []string) {
		for _, f := range p.perFlow() {
			for _, text := range texts(f) {
				add(f.inFlow(text))
			}
		}
	}
	for _, r := range rules {
		switch {
		case r.Limitations != nil:
			add(r.Limitations...)
		case r.Limitation != "":
			add(r.Limitation)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Plan.Overrides)) {
		add(fmt.Sprintf("the command line set %s to %s", key, p.Plan.Overrides[key]))
	}
	perFlow(loosenedByFlow)
	perFlow(expectedStatuses)
	add(loosened(p)...)
	add(weighing...)
	add(loggedErrors(p.evidence)...)
	add(reachedLimitations(p.evidence)...)
	for _, c := range p.Facts.Collectors {
		pushed := c.Source == metric.SourceService && p.Timeline.Pushed().Read
		if c.State != record.StateOK && c.Source != metric.SourceDatabase && !pushed {
			add(c.Source + " was not observed" + collectorReason(p.evidence, c.Source))
		}
	}
	switch l := p.Facts.Ledger; {
	case p.Ledger == nil || l.State == record.StateFailed:
		add("acknowledged and persisted transactions were not compared")
	case l.Reason != "":
		add("ledger: " + l.Reason)
	}
	for _, note := range p.Facts.Ledger.Notes {
		add("ledger: " + note)
	}
	perFlow(ledgerLimitations)
	perFlow(foreignLimitations)
	add(pushedLimitations(p.evidence)...)
	if others := contradicted(p.evidence, false); len(others) > 0 {
		add("what cannot have been measured is left out: " + joinFirst(others, 3))
	}
	killed := func(d disturbance) bool { return d.fault.Node != "" && d.fault.Do == spec.DoKill }
	if p.Ledger != nil && slices.ContainsFunc(disturbances(p.evidence), killed) {
		add("durability when a host loses power was not tested")
	} else {
		add("durability when a process or host is killed was not tested")
	}
	if p.Plan.Scope == spec.ScopeCertificate {
		add(fmt.Sprintf("only %s is judged: what happens less often, such as a failover or a nightly job, may not have happened in these %d s", recurs(p.seconds), p.seconds))
	}
	if slices.ContainsFunc(p.Plan.Profile.AllSLOs(), func(s spec.SLO) bool { return s.Aggregate == spec.Max || s.Kind() != spec.KindSamples }) {
		if p.Plan.Scope == spec.ScopeCertificate {
			add("maximum and ledger SLOs describe this run only")
		} else {
			add("a " + p.Plan.Scope + " describes this run only: another run may differ")
		}
	}
	add(p.Facts.Limitations...)
	return all
}

// relaxed says that the profile has made the limit of a rule laxer than the default, if it has.
func relaxed(rule string, is, usual *float64) []string {
	if *is <= *usual {
		return nil
	}
	return []string{relaxedText(rule, percent(*is), percent(*usual))}
}

func relaxedText(rule, is, usual string) string {
	return fmt.Sprintf("the profile relaxes rule %s to %s (default: %s)", rule, is, usual)
}

// loosenedByFlow reports the limits that depend on the SLOs of a flow.
func loosenedByFlow(p *part) []string {
	usual := spec.DefaultRules(p.Plan.Profile.WholeSLOs())
	return append(
		relaxed(rulebook.GeneratorDrops, p.limits.GeneratorDrops, usual.GeneratorDrops),
		relaxed(rulebook.Offered, p.limits.Offered, usual.Offered)...,
	)
}

// loosened reports the other limits.
func loosened(p *part) []string {
	usual := spec.DefaultRules(p.Plan.Profile.WholeSLOs())
	all := append(
		relaxed(rulebook.GeneratorCPU, p.limits.GeneratorCPU, usual.GeneratorCPU),
		relaxed(rulebook.Machine, p.limits.Machine, usual.Machine)...,
	)
	if is, limit := *p.limits.CollectorShare, *usual.CollectorShare; is < limit {
		all = append(all, relaxedText(rulebook.Collector, percent(is)+" of the samples", percent(limit)))
	}
	if is, limit := *p.limits.CollectorGap, *usual.CollectorGap; is > limit {
		all = append(all, relaxedText(rulebook.Collector, fmt.Sprintf("a gap of %s", is), limit.String()))
	}
	return all
}

// loggedErrors are the first errors that the workers logged, where transactions
// failed: what the script threw, or why a request failed. The cause may be the script.
func loggedErrors(e *evidence) (all []string) {
	if e.notCompleted() == 0 {
		return nil
	}
	for _, w := range e.Facts.Workers {
		if text := "first error logged: " + w.Logged; w.Logged != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// pushedLimitations say why metrics that services pushed under OpenTelemetry's names are not
// those of the target, if they would have been needed.
func pushedLimitations(e *evidence) []string {
	p := e.Timeline.Pushed()
	_, requests := e.Timeline.Sum(metric.ServiceRequestTime, nil, record.All)
	_, statements := e.Timeline.Sum(metric.ServiceQueryTime, nil, record.All)
	switch {
	case len(p.Senders) == 0 || requests && statements:
		return nil
	case len(p.Senders) > 1:
		return []string{fmt.Sprintf("the metrics of %s, pushed by OTLP, are not read as the service's: it is not known which of them is the target; let only that one push to this run", strings.Join(p.Senders, ", "))}
	case p.TooRare():
		return []string{fmt.Sprintf("the metrics of %s, pushed by OTLP, are not read as the service's: an export covers up to %d s; set OTEL_METRIC_EXPORT_INTERVAL=1000", p.Senders[0], p.Longest)}
	}
	return nil
}
