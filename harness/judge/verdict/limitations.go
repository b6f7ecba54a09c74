package verdict

import (
	"fmt"
	"maps"
	"slices"

	"assay/harness/observe/record"
	"assay/harness/spec"
)

// limitations are what a reader of the claim must know beside it.
func limitations(e *evidence, rules []Rule) []string {
	var all []string
	for _, r := range rules {
		if r.Limitation != "" {
			all = append(all, r.Limitation)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e.Plan.Overrides)) {
		all = append(all, fmt.Sprintf("the command line set %s to %s", key, e.Plan.Overrides[key]))
	}
	all = append(all, e.loosened()...)
	all = append(all, e.complaints()...)
	for _, c := range e.Facts.Collectors {
		if c.State != record.StateOK && c.Source != "database" {
			all = append(all, c.Source+" was not observed"+e.whyNot(c.Source))
		}
	}
	switch l := e.Facts.Ledger; {
	case !hasLedger(e.Run):
		all = append(all, "acknowledged and persisted transactions were not compared")
	case l.Reason != "":
		all = append(all, "ledger: "+l.Reason)
	}
	all = append(all,
		"durability when a process or host is killed was not tested")
	if why := e.uncalibrated(); why != "" {
		all = append(all, why)
	}
	if e.counted() {
		all = append(all, e.countedText())
	}
	return append(all, e.Facts.Limitations...)
}

// loosened are the limits of rules that the profile has set wider than the
// rulebook's.
func (e *evidence) loosened() (all []string) {
	usual := spec.DefaultRules(e.Plan.Profile.SLOs)
	add := func(rule, is, limit string) {
		all = append(all, fmt.Sprintf("the profile lets rule %s go to %s, instead of %s", rule, is, limit))
	}
	for _, r := range []struct {
		id        string
		is, usual *float64
	}{
		{"generator-drops", e.limits.GeneratorDrops, usual.GeneratorDrops},
		{"generator-lag", e.limits.GeneratorLag, usual.GeneratorLag},
		{"generator-cpu", e.limits.GeneratorCPU, usual.GeneratorCPU},
	} {
		if *r.is > *r.usual {
			add(r.id, percent(*r.is), percent(*r.usual))
		}
	}
	if is, limit := *e.limits.CollectorShare, *usual.CollectorShare; is < limit {
		add("collector", percent(is)+" of the samples", percent(limit))
	}
	if is, limit := *e.limits.CollectorGap, *usual.CollectorGap; is > limit {
		add("collector", fmt.Sprintf("a gap of %s", is), limit.String())
	}
	return all
}

// countedText names what is counted.
func (e *evidence) countedText() string {
	what := "maxima and the ledger"
	if slices.ContainsFunc(e.Plan.Profile.SLOs, spec.SLO.OfReaders) {
		what = "maxima, the ledger and lags"
	}
	return what + " are counted in this run, and say nothing of another"
}

// counted tells whether the profile asks what no sample can show of more than
// itself.
func (e *evidence) counted() bool {
	return slices.ContainsFunc(e.Plan.Profile.SLOs, func(s spec.SLO) bool { return s.Aggregate == spec.Max || !s.Sampled() })
}

// complaints are what workers logged first of a run in which transactions
// failed: what the script threw, or why a request failed. The cause may be the
// script's own.
func (e *evidence) complaints() (all []string) {
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
