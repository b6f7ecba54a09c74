package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"

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

// analysis is a run under diagnosis.
type analysis struct {
	*layout
	run        record.Run
	symptoms   symptoms
	noBaseline bool // no baseline to compare with: the plan has none, or it breaks the SLOs too
	spans      []record.Span
	hold, base window      // base.parts is nil if there is no baseline
	excessMs   parts       // time to be explained
	queued     parts       // part of charged that is waiting for a connection
	charged    parts       // excessMs by the component that causes it
	growths    [][]float64 // by component and resample: Ms - BaselineMs
	resampled  [][]float64 // by component and resample: charged
	refused    []bool      // by resample: the database refused connections
	holders    lockHolders
	change     string // sentence on a change of latency within the judged window; empty: no change
	grewMost   string // component that grew most since a baseline that breaks the SLOs too; empty: none by much
}

// analyse returns nil if no transaction ran in the judged windows.
func analyse(of subject) *analysis {
	r, v := of.run, of.verdict
	a := &analysis{layout: layoutOf(tableOf(r, v.Judged)), run: r, symptoms: symptomsOf(of), spans: v.Judged}
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
	holdRows, baseRows := a.rows(r.Timeline, a.spans), a.rows(r.Timeline, baseline(r))
	a.hold = a.window(a.sum(holdRows))
	if a.hold.sum[scheduled] == 0 {
		return nil
	}
	if sum := a.sum(baseRows); sum[scheduled] > 0 {
		a.base = a.window(sum)
	}
	a.noBaseline = a.base.parts == nil || a.symptoms.baselineBroken
	a.holders = lockHoldersOf(r, a.spans, a.layout)
	a.holders.neighbour = a.clients.neighbour(a.holders.client)
	a.excessMs = a.excess(a.hold, a.base)
	a.charged, a.queued = a.charge(a.excessMs, a.hold, a.base)
	a.grewMost = a.mostGrown()
	a.resample(holdRows, baseRows)
	a.change = a.changeWithin(holdRows)
	return a
}

// mostGrown is the component that grew most since a baseline that breaks the SLOs too,
// if it grew by at least a quarter of the time per transaction; else empty.
func (a *analysis) mostGrown() string {
	if !a.noBaseline || a.base.parts == nil {
		return ""
	}
	compared := *a
	compared.noBaseline = false
	charged, _ := compared.charge(growth(a.hold, a.base), a.hold, a.base)
	most := slices.Index(charged, slices.Max(charged))
	if most < 0 || charged[most] < a.hold.mean()/4 { // none is the largest of numbers that are none
		return ""
	}
	return a.names[most]
}

// resample repeats the analysis on resampled seconds: a resampled hold with the original
// baseline, and the original hold with a resampled baseline. Each deviation from the
// original result is widened for the number of seconds; adding up the two deviations is a
// first-order approximation.
func (a *analysis) resample(holdRows, baseRows [][]float64) {
	random := rand.New(rand.NewPCG(a.run.Plan.Load.Seed, uint64(len(holdRows))))
	a.growths, a.resampled = make([][]float64, len(a.names)), make([][]float64, len(a.names))
	for i := range a.names {
		a.growths[i], a.resampled[i] = make([]float64, resamples), make([]float64, resamples)
	}
	sum := make([]float64, len(a.hold.sum))
	grown := growth(a.hold, a.base)
	holdWidening, baseWidening := widening(len(holdRows)), widening(len(baseRows))
	holdSeconds, baseSeconds := samplerOf(holdRows), samplerOf(baseRows)
	for s := range resamples {
		holdSeconds.resample(sum, random)
		a.refused = append(a.refused, a.connectionsRefused(sum))
		g, c := slices.Clone(grown), slices.Clone(a.charged)
		addDeviation := func(hold, base window, widening float64) {
			for i, v := range growth(hold, base) {
				g[i] += widening * (v - grown[i])
			}
			charged, _ := a.charge(a.excess(hold, base), hold, base)
			for i, v := range charged {
				c[i] += widening * (v - a.charged[i])
			}
		}
		addDeviation(a.window(sum), a.base, holdWidening)
		if a.base.parts != nil {
			baseSeconds.resample(sum, random)
			addDeviation(a.hold, a.window(sum), baseWidening)
		}
		for i := range a.names {
			a.growths[i][s], a.resampled[i][s] = g[i], c[i]
		}
	}
}

// components are the parts of the time per transaction that are not 0 in both windows,
// and the residual.
func (a *analysis) components() (all []Component) {
	for i, name := range a.names {
		c := Component{Name: name, Ms: rounded(a.hold.parts[i])}
		if a.base.parts != nil {
			ms := rounded(a.base.parts[i])
			c.BaselineMs = &ms
			lower, upper := interval(slices.Clone(a.growths[i]))
			lower, upper = rounded(lower), rounded(upper)
			c.Lower, c.Upper = &lower, &upper
		}
		if c.Ms != 0 || c.BaselineMs != nil && *c.BaselineMs != 0 || name == Residual {
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
