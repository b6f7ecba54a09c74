package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"

	"assay/harness/judge/stats"
	"assay/harness/judge/verdict"
	"assay/harness/observe/record"
	"assay/harness/observe/wait"
)

// Component names that say that none is named.
const (
	None         = "none"         // nothing has to be explained
	Undetermined = "undetermined" // the record does not tell
)

// Sure is the least confidence with which a component is named (ours).
const Sure = 0.95

// Findings is what a record tells of where the time went.
type Findings struct {
	Waits      []Wait      // nil: the database was not sampled
	Split      []Component // of a transaction's mean time; nil: no transaction ran
	Bottleneck *Bottleneck // nil with Split
	Statements []Statement // nil: the database did not tell
	Resources  []Resource  // what a transaction cost
}

// Component is a part of a transaction's mean time in the judged windows.
type Component struct {
	Name       string
	Ms         float64
	BaselineMs *float64 // nil: the plan has no baseline
	// Lower and Upper are the ends of a 95 % interval of Ms - BaselineMs, by
	// bootstrap over seconds; nil without a baseline.
	Lower, Upper *float64
}

// Bottleneck is the component that made a run miss its SLOs.
type Bottleneck struct {
	Component string // or None, or Undetermined
	// Class and Event are the wait that grew most in a component of the
	// database; empty for others.
	Class, Event string
	Inferred     bool // the event is a session's state, or nothing but its absence
	// Confidence is the share of resamples in which the component leads all
	// others; of an undetermined bottleneck that of the one that comes first.
	// Nil where none does.
	Confidence *float64
	Growth     *float64 // ms of a transaction that are charged to it
	Sentence   string
	Evidence   []string // further sentences
	Confirm    []string // experiments
	Remedy     string
	RunnerUp   *Candidate // nil: there is none
}

// Candidate is a component and what is charged to it.
type Candidate struct {
	Component string
	Growth    float64 // ms of a transaction
}

// Of diagnoses a judged run.
func Of(r record.Run, v verdict.Verdict) (f Findings) {
	if r.Timeline == nil {
		return f
	}
	f.Waits, f.Statements, f.Resources = waits(r, v.Judged), statements(r, v.Judged), resources(r, v.Judged)
	e := examine(r, v)
	if e == nil {
		return f
	}
	f.Split = e.components()
	f.Bottleneck = e.bottleneck(f)
	return f
}

// examination is a run under diagnosis.
type examination struct {
	*layout
	run         record.Run
	why         reason
	level       bool // the baseline is no measure: it breaks the SLOs too, or there is none
	spans       []record.Span
	hold, base  side // base without parts: there is none
	excessMs    parts
	roots       parts
	growths     [][]float64 // by component: Ms - BaselineMs in each resample
	charged     [][]float64 // by component: roots in each resample
	refused     []bool      // in each resample
	holders     holders
	changed     string // how latency changed in the middle of the judged window; empty: it did not
	levelLeader string // of a level: the component that grew most; empty: none grew to speak of
}

// examine is nil where no transaction ran in the judged windows.
func examine(r record.Run, v verdict.Verdict) *examination {
	e := &examination{layout: layoutOf(tableOf(r)), run: r, why: reasonOf(r, v), spans: v.Judged}
	if i := e.why.window; i != nil { // which alone is broken
		e.spans = e.spans[*i : *i+1]
	}
	holdRows, baseRows := e.rows(r.Timeline, e.spans), e.rows(r.Timeline, baseline(r))
	e.hold = e.side(e.sum(holdRows))
	if e.hold.sum[scheduled] == 0 {
		return nil
	}
	if sum := e.sum(baseRows); sum[scheduled] > 0 {
		e.base = e.side(sum)
	}
	e.level = e.base.parts == nil || e.why.baselineToo
	e.holders = holdersOf(r, e.spans, e.layout)
	e.excessMs = e.excess(e.hold, e.base)
	e.roots = e.charge(e.excessMs, e.hold, e.base)
	e.levelLeader = e.grewMost()
	e.resample(holdRows, baseRows)
	e.changed = e.change(holdRows)
	return e
}

// grewMost is, of a run whose baseline breaks the SLO too, the component that grew
// most since, where that is a quarter of a transaction's time.
func (e *examination) grewMost() string {
	if !e.level || e.base.parts == nil {
		return ""
	}
	e.level = false
	roots := e.charge(growth(e.hold, e.base), e.hold, e.base)
	e.level = true
	most := slices.Index(roots, slices.Max(roots))
	if roots[most] < e.mean(e.hold)/4 {
		return ""
	}
	return e.names[most]
}

// resample repeats the reasoning on resampled seconds: those judged beside the
// whole baseline, and the other way round. What either alone moves the result by
// is widened by how few seconds it has; that both moves add up is a first-order
// approximation.
func (e *examination) resample(holdRows, baseRows [][]float64) {
	random := rand.New(rand.NewPCG(e.run.Plan.Load.Seed, uint64(len(holdRows))))
	e.growths, e.charged = make([][]float64, len(e.names)), make([][]float64, len(e.names))
	sum := make([]float64, len(e.hold.sum))
	grown := growth(e.hold, e.base)
	for range resamples {
		resample(holdRows, sum, random)
		e.refused = append(e.refused, e.refusing(sum))
		g, c := slices.Clone(grown), slices.Clone(e.roots)
		move := func(hold, base side, wider float64) {
			for i, v := range growth(hold, base) {
				g[i] += wider * (v - grown[i])
			}
			for i, v := range e.charge(e.excess(hold, base), hold, base) {
				c[i] += wider * (v - e.roots[i])
			}
		}
		move(e.side(sum), e.base, widening(len(holdRows)))
		if e.base.parts != nil {
			resample(baseRows, sum, random)
			move(e.hold, e.side(sum), widening(len(baseRows)))
		}
		for i := range e.names {
			e.growths[i], e.charged[i] = append(e.growths[i], g[i]), append(e.charged[i], c[i])
		}
	}
}

// widening is by how much resamples of n seconds scatter too little: as much as
// the normal distribution does beside Student's, for as many batches as there are
// blocks. Of a single block nothing is known.
func widening(n int) float64 {
	if n/blockOf(n) < 2 {
		return 0
	}
	return math.Sqrt(stats.Few(n / blockOf(n)))
}

// components are the parts that any window has something of.
func (e *examination) components() (all []Component) {
	for i, name := range e.names {
		c := Component{Name: name, Ms: tidy(e.hold.parts[i])}
		if e.base.parts != nil {
			ms := tidy(e.base.parts[i])
			c.BaselineMs = &ms
			lower, upper := interval(slices.Clone(e.growths[i]))
			lower, upper = tidy(lower), tidy(upper)
			c.Lower, c.Upper = &lower, &upper
		}
		if c.Ms != 0 || c.BaselineMs != nil && *c.BaselineMs != 0 || name == Residual {
			all = append(all, c)
		}
	}
	return all
}

// tidy makes 0 of what only floating-point sums leave over: no clock tells
// picoseconds.
func tidy(ms float64) float64 {
	if math.Abs(ms) < 1e-9 {
		return 0
	}
	return ms
}

// ranking is the components by what is charged to them, the largest first.
func (e *examination) ranking() []int {
	order := make([]int, len(e.roots))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case e.roots[a] > e.roots[b]:
			return -1
		case e.roots[a] < e.roots[b]:
			return 1
		}
		return 0
	})
	return order
}

// confidence is the share of resamples in which a component leads.
func (e *examination) confidence(leader int) float64 {
	n := 0
	for s := range resamples {
		leads := e.charged[leader][s] > 0
		for i := range e.charged {
			leads = leads && (i == leader || e.charged[i][s] < e.charged[leader][s])
		}
		if leads {
			n++
		}
	}
	return float64(n) / resamples
}

// bottleneck names the component, or says why none is named.
func (e *examination) bottleneck(f Findings) *Bottleneck {
	switch {
	case !e.why.any():
		return &Bottleneck{Component: None, Sentence: e.nothing(), Confirm: []string{}}
	case e.why.time():
	case len(e.why.failures) > 0 && e.refusing(e.hold.sum):
		return e.refusals()
	default:
		return &Bottleneck{Component: Undetermined, Sentence: e.notByTime(), Confirm: []string{}}
	}
	order := e.ranking()
	leader, second := order[0], order[1]
	b := &Bottleneck{Component: e.names[leader], Confirm: []string{}}
	if e.roots[leader] <= 0 {
		b.Component, b.Sentence = Undetermined, e.withoutGrowth()
		return b
	}
	share, grown := e.confidence(leader), e.roots[leader]
	b.Confidence, b.Growth = &share, &grown
	if e.roots[second] > 0 {
		b.RunnerUp = &Candidate{e.names[second], e.roots[second]}
	}
	least, _ := interval(slices.Clone(e.charged[leader]))
	if doubt := e.doubt(leader, share, least); doubt != "" {
		e.describeDoubt(b, doubt, f)
		return b
	}
	e.event(b, f.Waits)
	e.describe(b, f)
	return b
}

// refusals names the connection storm of a run that fails because the database
// has no room for more connections.
func (e *examination) refusals() *Bottleneck {
	n := 0
	for _, refused := range e.refused {
		if refused {
			n++
		}
	}
	share := float64(n) / resamples
	b := &Bottleneck{Component: Opening, Confidence: &share, Confirm: []string{}}
	e.describeRefusals(b)
	return b
}

// refusing: connections are refused, at least half as many as transactions fail.
func (l *layout) refusing(sum []float64) bool {
	return sum[failed] > 0 && sum[refused] > 0 && sum[refused] >= sum[failed]/2
}

// event finds the wait that grew most within a component of the database.
func (e *examination) event(b *Bottleneck, waits []Wait) {
	if !e.isDatabase(e.at[b.Component]) {
		return
	}
	if b.Component == CPU && e.outOfCPU(e.hold, e.base) {
		b.Class = wait.CPU // whatever those wait for who have none
		return
	}
	most := 0.0
	for _, w := range waits {
		if w.MsPerTransaction == nil || wait.ComponentOf(w.Class) != b.Component {
			continue
		}
		grown := *w.MsPerTransaction
		if w.BaselineMsPerTransaction != nil && !e.level {
			grown -= *w.BaselineMsPerTransaction
		}
		if grown > most {
			most, b.Class, b.Event, b.Inferred = grown, w.Class, w.Event, w.Inferred
		}
	}
}

func (e *examination) isDatabase(at int) bool { return slices.Contains(e.databaseParts(), at) }
