// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"math"
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/record"
)

// window is the column sums over a window's seconds, and the time per transaction by
// component.
type window struct {
	sum   []float64
	parts parts
}

func (l *layout) window(sum []float64) window { return window{sum, l.split(sum)} }

// mean is the mean latency of a transaction in a window, in ms.
func (w window) mean() float64 { return w.sum[transactionTime] / w.sum[scheduled] }

// perSecond is the mean of a column over the window's seconds.
func (w window) perSecond(q columnIndex) float64 { return w.sum[q] / w.sum[seconds] }

// comparison is two windows of a run: it answers what grew from one to the other, and which
// component each growth is charged to.
type comparison struct {
	*layout
	hold, base      window // base.parts is nil if there is no baseline
	noBaseline      bool   // no baseline to compare with: the plan has none, or it breaks the SLOs too
	generatorBroken bool   // the generator broke a rule
	holders         lockHolders
}

// of is the same comparison of other windows.
func (c comparison) of(hold, base window) comparison {
	c.hold, c.base = hold, base
	return c
}

// charges are what the growth of a comparison is charged to.
type charges struct {
	comparison
	excessMs parts // time to be explained
	queued   parts // part of charged that is waiting for a connection
	charged  parts // excessMs by the component that causes it
}

// analysis is a run under diagnosis.
type analysis struct {
	charges
	found    Findings // so far
	run      record.Run
	symptoms symptoms
	spans    []record.Span
	drawn    resampling
	change   string // sentence on a change of latency within the judged window; empty: no change
	grewMost string // component that grew most since a baseline that breaks the SLOs too; empty: none by much
}

// analyse returns nil if no transaction ran in the judged windows.
func analyse(of subject) *analysis {
	r, v := of.run, of.verdict
	l := layoutOf(r, v.Judged)
	a := &analysis{run: r, symptoms: symptomsOf(of), spans: v.Judged}
	if a.symptoms.seconds != nil {
		a.spans = a.symptoms.seconds
	} else if failed := a.symptoms.window; failed != nil { // diagnose only the window that failed
		a.spans = nil
		for i, span := range v.Judged {
			if v.WindowOf[i] == *failed {
				a.spans = append(a.spans, span)
			}
		}
	}
	holdRows, baseRows := l.rows(r.Timeline, a.spans), l.rows(r.Timeline, baseline(r))
	c := comparison{layout: l, hold: l.window(l.sum(holdRows)), generatorBroken: a.symptoms.generator != ""}
	if c.hold.sum[scheduled] == 0 {
		return nil
	}
	if sum := l.sum(baseRows); sum[scheduled] > 0 {
		c.base = l.window(sum)
	}
	c.noBaseline = c.base.parts == nil || a.symptoms.baselineBroken
	c.holders = lockHoldersOf(r, a.spans, l)
	c.holders.neighbour = l.clients.neighbour(c.holders.client)
	a.charges, a.grewMost = c.charge(), c.mostGrown()
	a.drawn = a.resample(holdRows, baseRows, r.Plan.Load.Seed)
	a.change = a.changeWithin(holdRows)
	return a
}

// mostGrown is the component that grew most since a baseline that breaks the SLOs too,
// if it grew by at least a quarter of the time per transaction; else empty.
func (c comparison) mostGrown() string {
	if !c.noBaseline || c.base.parts == nil {
		return ""
	}
	c.noBaseline = false
	charged := c.charge().charged
	most := slices.Index(charged, slices.Max(charged))
	if most < 0 || charged[most] < c.hold.mean()/4 { // none is the largest of numbers that are none
		return ""
	}
	return c.names[most]
}

// components are the parts of the time per transaction that are not 0 in both windows,
// and the residual.
func (a *analysis) components() (all []certificate.Split) {
	for i, name := range a.names {
		is := rounded(a.hold.parts[i])
		c, shown := certificate.Split{Component: name, MsPerTransaction: &is}, is != 0 || name == Residual
		if a.base.parts != nil {
			was := rounded(a.base.parts[i])
			lower, upper := interval(slices.Clone(a.drawn.growths[i]))
			c.BaselineMsPerTransaction, c.Lower, c.Upper = &was, new(rounded(lower)), new(rounded(upper))
			shown = shown || was != 0
		}
		if shown {
			all = append(all, c)
		}
	}
	return all
}

// rounded turns rounding errors of sums into 0.
func rounded(ms float64) float64 {
	if math.Abs(ms) < 1e-9 {
		return 0
	}
	return ms
}
