// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/wait"
)

// bottleneck names the component, or says why it names none.
func (a *analysis) bottleneck() *certificate.Bottleneck {
	refused := a.symptoms.incomplete() && a.connectionsRefused(a.hold.sum)
	switch {
	case !a.symptoms.any():
		return &certificate.Bottleneck{Component: None, Sentence: a.noneSentence()}
	case a.symptoms.aboutTime():
		b := a.slowest()
		if refused && !a.symptoms.loadDiffers && (b.Component == Undetermined || b.Component == Generator) {
			return a.refusedInstead(b)
		}
		return b
	case refused:
		return a.refusedConnections()
	}
	return &certificate.Bottleneck{Component: Undetermined, Sentence: a.otherSLOsSentence()}
}

// slowest names the component that the time of transactions is charged to.
func (a *analysis) slowest() *certificate.Bottleneck {
	order := a.ranking()
	leader, second := order[0], order[1]
	b := &certificate.Bottleneck{Component: a.names[leader]}
	if a.charged[leader] <= 0 {
		b.Component, b.Sentence = Undetermined, a.headline()+", and no measured component explains it."
		return b
	}
	share, grown, queued := a.drawn.confidence(leader, a.samplingGap()), a.charged[leader]-a.queued[leader], a.queued[leader]
	b.Confidence, b.GrowthMs = &share, &grown
	if queued > 0 {
		b.QueuedMs = &queued
	}
	if a.charged[second] > 0 {
		b.RunnerUp = &certificate.RunnerUp{Component: a.names[second], GrowthMs: new(a.charged[second] - a.queued[second])}
	}
	least, _ := interval(slices.Clone(a.drawn.charged[leader]))
	if doubt := a.doubt(leader, share, least); doubt != "" {
		a.describeCandidate(b, doubt)
		return b
	}
	a.nameEvent(b, a.found.Waits)
	if b.Component == Neighbour {
		b.Client, _ = largestNeighbour(a.found.Waits)
	}
	if b.Component == Downstream && a.retriedIn(a.hold, a.spans) {
		b.Cause = Retries
	}
	a.describe(b)
	return b
}

// ranking orders the components by the time charged to them, the largest first.
func (c charges) ranking() []int {
	order := make([]int, len(c.charged))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(c.charged[j], c.charged[i]) })
	return order
}

// nameEvent sets the wait that grew most within the component, if the component is part
// of the database.
func (a *analysis) nameEvent(b *certificate.Bottleneck, waits []certificate.Wait) {
	if !a.isDatabase(a.index[b.Component]) {
		return
	}
	if b.Component == CPU && a.databaseLacksCPU() {
		b.Class = wait.CPU // sessions that lack CPU show waits of all kinds
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
