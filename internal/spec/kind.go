// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"slices"

	"assay.dev/assay/internal/observe/metric"
)

// Kind is what decides an SLO. A new kind needs a row of kinds, and a case where the verdict
// judges SLOs.
type Kind string

// The kinds.
const (
	KindSamples    Kind = "samples"    // samples of the load, whose violations the workers count
	KindGauge      Kind = "gauge"      // the readings of a gauge, one per second
	KindLedger     Kind = "ledger"     // acknowledged and persisted transactions, compared after the load
	KindRecovery   Kind = "recovery"   // the time until the SLOs hold again after a fault
	KindSettling   Kind = "settling"   // the time until they hold again after a change of the load
	KindGoodput    Kind = "goodput"    // the transactions of an overload that completed in time
	KindInvariants Kind = "invariants" // queries of the database after the load
)

// kinds says of each kind which metrics are of it.
var kinds = []struct {
	kind      Kind
	has       func(metric.Descriptor) bool
	counted   string   // why no test can infer such an SLO, after "is always counted"; empty: a test can
	ofStages  bool     // it judges how stages of the load went, and so needs some
	operators []string // nil: those of its aggregate
}{
	{kind: KindSamples, has: func(d metric.Descriptor) bool {
		return d.Name == "" || d.From(metric.SourceK6) || d.From(metric.SourceWorker) // a script registers those without a name
	}},
	{kind: KindGauge, has: metric.Descriptor.JudgedBySecond, counted: ", second by second"},
	{kind: KindLedger, has: named(metric.Ledger, metric.PersistLag), counted: ": every transaction of the run is reconciled"},
	{kind: KindRecovery, has: named(metric.RecoveryTime), counted: countedOnce},
	{kind: KindSettling, has: named(metric.SettleTime, metric.TimeToScale), counted: countedOnce, ofStages: true},
	{kind: KindGoodput, has: named(metric.Goodput), counted: countedOnce, ofStages: true, operators: lowerOperators},
	{kind: KindInvariants, has: named(metric.Invariants), counted: countedOnce},
}

const countedOnce = ": it is about this run as a whole"

func named(names ...string) func(metric.Descriptor) bool {
	return func(d metric.Descriptor) bool { return slices.Contains(names, d.Name) }
}

// row is the index in kinds of the SLO's kind. A metric that no SLO may name counts as one of
// samples, and is refused for its own reason.
func (s SLO) row() int {
	d := s.Descriptor()
	for i, k := range kinds {
		if k.has(d) {
			return i
		}
	}
	return 0
}

// Kind is what decides the SLO.
func (s SLO) Kind() Kind { return kinds[s.row()].kind }

// OfStages reports whether the SLO judges how stages of the load went.
func (s SLO) OfStages() bool { return kinds[s.row()].ofStages }

// alwaysCounted says why no test can infer the SLO; empty where one can.
func (s SLO) alwaysCounted() string {
	if why := kinds[s.row()].counted; why != "" {
		return s.Metric + " is always counted" + why
	}
	if s.Aggregate == Max {
		return "max is always counted: the maximum of one run says nothing about the next run"
	}
	return ""
}
