// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

// limitations are what a reader of the claim must also know.
func limitations(e *evidence, rules []Rule) []string {
	var all []string
	for _, r := range rules {
		switch {
		case r.Limitations != nil:
			all = append(all, r.Limitations...)
		case r.Limitation != "":
			all = append(all, r.Limitation)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e.Plan.Overrides)) {
		all = append(all, fmt.Sprintf("the command line set %s to %s", key, e.Plan.Overrides[key]))
	}
	all = append(all, e.loosenedLimits()...)
	all = append(all, e.loggedErrors()...)
	for _, c := range e.Facts.Collectors {
		pushed := c.Source == metric.SourceService && e.Timeline.Pushed().Read
		if c.State != record.StateOK && c.Source != metric.SourceDatabase && !pushed {
			all = append(all, c.Source+" was not observed"+e.collectorReason(c.Source))
		}
	}
	switch l := e.Facts.Ledger; {
	case !hasLedger(e.Run):
		all = append(all, "acknowledged and persisted transactions were not compared")
	case l.Reason != "":
		all = append(all, "ledger: "+l.Reason)
	}
	all = append(all, e.unjudgedChecks()...)
	for _, f := range e.perFlow() {
		for _, text := range f.foreignLimitations() {
			all = append(all, f.inFlow(text))
		}
	}
	all = append(all, e.pushedLimitations()...)
	if left := e.Timeline.LeftOut(); left.Points > 0 {
		all = append(all, fmt.Sprintf("%s points of other senders, from second %d of the load on, are left out: they sent more than is read of them", number(float64(left.Points)), left.From-e.Facts.T0.Unix()))
	}
	if others := e.contradictions(false); len(others) > 0 {
		all = append(all, "what cannot have been measured is left out: "+joinFirst(others, 3))
	}
	if e.killedNode() && e.Ledger != nil {
		all = append(all, "durability when a host loses power was not tested")
	} else {
		all = append(all, "durability when a process or host is killed was not tested")
	}
	for _, f := range e.perFlow() {
		if n := f.whole.seconds - f.seconds; n > 0 {
			all = append(all, f.inFlow(fmt.Sprintf("%d s of the judged windows belong to recoveries: only the SLOs on recoveries (%s), the ledger, persist_lag and invariants judge them", n, f.recoverySLOs())))
		}
		for _, text := range f.shortRun() {
			all = append(all, f.inFlow(text))
		}
	}
	if e.countsOnly() {
		all = append(all, e.countedText())
	}
	return append(all, e.Facts.Limitations...)
}

// recoverySLOs names the metrics of the profile's SLOs on recoveries.
func (e *evidence) recoverySLOs() string {
	var names []string
	for _, name := range []string{metric.RecoveryTime, metric.SettleTime, metric.TimeToScale} {
		if _, ok := e.Plan.Profile.Limit(name); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// killedNode reports whether the process of a node was killed under load.
func (e *evidence) killedNode() bool {
	return slices.ContainsFunc(e.disturbances(), func(d disturbance) bool { return d.fault.Node != "" && d.fault.Do == spec.DoKill })
}

// loosenedLimits reports rules whose limits the profile has made laxer than the default: those
// that depend on SLOs for each flow.
func (e *evidence) loosenedLimits() (all []string) {
	text := func(rule, is, limit string) string {
		return fmt.Sprintf("the profile relaxes rule %s to %s (default: %s)", rule, is, limit)
	}
	share := func(rule string, is, usual *float64) (all []string) {
		if *is > *usual {
			all = append(all, text(rule, percent(*is), percent(*usual)))
		}
		return all
	}
	for _, f := range e.perFlow() {
		usual := spec.DefaultRules(f.Plan.Profile.WholeSLOs())
		for _, limitation := range slices.Concat(
			share(rulebook.GeneratorDrops, f.limits.GeneratorDrops, usual.GeneratorDrops),
			share(rulebook.Offered, f.limits.Offered, usual.Offered),
		) {
			all = append(all, f.inFlow(limitation))
		}
	}
	usual := spec.DefaultRules(e.Plan.Profile.WholeSLOs())
	all = append(all, share(rulebook.GeneratorCPU, e.limits.GeneratorCPU, usual.GeneratorCPU)...)
	all = append(all, share(rulebook.Machine, e.limits.Machine, usual.Machine)...)
	if is, limit := *e.limits.CollectorShare, *usual.CollectorShare; is < limit {
		all = append(all, text(rulebook.Collector, percent(is)+" of the samples", percent(limit)))
	}
	if is, limit := *e.limits.CollectorGap, *usual.CollectorGap; is > limit {
		all = append(all, text(rulebook.Collector, fmt.Sprintf("a gap of %s", is), limit.String()))
	}
	return all
}

// unjudgedChecks reports failed checks of the script that no SLO judges.
func (e *evidence) unjudgedChecks() []string {
	if slices.ContainsFunc(e.Plan.Profile.AllSLOs(), func(s spec.SLO) bool { return s.Metric == metric.Checks }) {
		return nil
	}
	made, _ := e.sum(metric.Checks+metric.RateTotal, nil)
	held, _ := e.sum(metric.Checks+metric.RateOccurred, nil)
	if failed := made - held; failed > 0 {
		return []string{fmt.Sprintf("%s of %s checks of the script failed, and no SLO judges them", number(failed), number(made))}
	}
	return nil
}

// shortRun names the SLOs that should have been inferred, but were counted because the
// run was too short, or because other senders reported too rarely.
func (e *evidence) shortRun() (all []string) {
	var names, lumped []string
	longest := 0.0
	for _, s := range e.slos {
		if s.Outcome != Pass || s.PlannedBasis != spec.Inferred || s.Basis == spec.Inferred {
			continue
		}
		if s.Lumped {
			lumped = append(lumped, s.Name())
			continue
		}
		names = append(names, s.Name())
		if s.Correlation != nil {
			longest = max(longest, *s.Correlation)
		}
	}
	state := func(names []string, why string) {
		if len(names) > 0 {
			all = append(all, fmt.Sprintf("counted in this run, without 95 %% confidence: %s (%s)", joinFirst(names, 3), why))
		}
	}
	why := fmt.Sprintf("%d judged seconds are too few", e.seconds)
	if longest > 0 {
		why += fmt.Sprintf(" for a correlation time of %s s", number(longest))
	}
	state(names, why)
	state(lumped, fmt.Sprintf("other senders report less often than every %d s", stats.MinBatch))
	return all
}

// countedText states what describes this run only.
func (e *evidence) countedText() string {
	what := "maximum and ledger SLOs describe this run only"
	if e.Plan.Scope != spec.ScopeCertificate {
		what = "a " + e.Plan.Scope + " describes this run only: another run may differ"
	}
	return what
}

// countsOnly reports whether the profile has SLOs that cannot be inferred: maxima, and
// SLOs that are not decided by samples.
func (e *evidence) countsOnly() bool {
	return slices.ContainsFunc(e.Plan.Profile.AllSLOs(), func(s spec.SLO) bool { return s.Aggregate == spec.Max || s.Kind() != spec.KindSamples })
}

// loggedErrors are the first errors that the workers logged, where transactions
// failed: what the script threw, or why a request failed. The cause may be the script.
func (e *evidence) loggedErrors() (all []string) {
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

func hasLedger(r record.Run) bool {
	return r.Ledger != nil && r.Facts.Ledger.State != record.StateFailed
}
