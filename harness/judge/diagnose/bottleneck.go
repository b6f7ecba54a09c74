package diagnose

import (
	"cmp"
	"slices"

	"assay/harness/observe/wait"
)

// bottleneck names the component, or says why none is named.
func (a *analysis) bottleneck(f Findings) *Bottleneck {
	switch {
	case !a.why.any():
		return &Bottleneck{Component: None, Sentence: a.sentenceOfNone(), Confirm: []string{}}
	case a.why.time():
	case len(a.why.failures) > 0 && a.refusing(a.hold.sum):
		return a.refusedConnections()
	default:
		return &Bottleneck{Component: Undetermined, Sentence: a.sentenceOfOtherSLOs(), Confirm: []string{}}
	}
	order := a.ranking()
	leader, second := order[0], order[1]
	b := &Bottleneck{Component: a.names[leader], Confirm: []string{}}
	if a.charged[leader] <= 0 {
		b.Component, b.Sentence = Undetermined, a.sentenceWithoutGrowth()
		return b
	}
	share, grown := a.confidence(leader), a.charged[leader]
	b.Confidence, b.Growth = &share, &grown
	if a.charged[second] > 0 {
		b.RunnerUp = &Candidate{a.names[second], a.charged[second]}
	}
	least, _ := interval(slices.Clone(a.resampled[leader]))
	if doubt := a.doubt(leader, share, least); doubt != "" {
		a.describeDoubt(b, doubt, f)
		return b
	}
	a.nameEvent(b, f.Waits)
	a.describe(b, f)
	return b
}

// ranking is the components by what is charged to them, the largest first.
func (a *analysis) ranking() []int {
	order := make([]int, len(a.charged))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(a.charged[j], a.charged[i]) })
	return order
}

// confidence is the share of resamples in which a component leads.
func (a *analysis) confidence(leader int) float64 {
	n := 0
	for s := range resamples {
		leads := a.resampled[leader][s] > 0
		for i := range a.resampled {
			leads = leads && (i == leader || a.resampled[i][s] < a.resampled[leader][s])
		}
		if leads {
			n++
		}
	}
	return float64(n) / resamples
}

// refusedConnections is the bottleneck of a run that fails because the database
// is at its limit of connections.
func (a *analysis) refusedConnections() *Bottleneck {
	n := 0
	for _, refused := range a.refused {
		if refused {
			n++
		}
	}
	share := float64(n) / resamples
	b := &Bottleneck{Component: Opening, Confidence: &share, Confirm: []string{}}
	a.describeRefusals(b)
	return b
}

// refusing: connections are refused, at least half as many as transactions fail.
func (l *layout) refusing(sum []float64) bool {
	return sum[failed] > 0 && sum[refused] > 0 && sum[refused] >= sum[failed]/2
}

// nameEvent sets the wait that grew most within a component of the database.
func (a *analysis) nameEvent(b *Bottleneck, waits []Wait) {
	if !a.isDatabase(a.at[b.Component]) {
		return
	}
	if b.Component == CPU && a.databaseLacksCPU(a.hold, a.base) {
		b.Class = wait.CPU // sessions that lack CPU show waits of any kind
		return
	}
	most := 0.0
	for _, w := range waits {
		if w.MsPerTransaction == nil || wait.ComponentOf(w.Class) != b.Component {
			continue
		}
		grown := *w.MsPerTransaction
		if w.BaselineMsPerTransaction != nil && !a.noBaseline {
			grown -= *w.BaselineMsPerTransaction
		}
		if grown > most {
			most, b.Class, b.Event, b.Inferred = grown, w.Class, w.Event, w.Inferred
		}
	}
}
