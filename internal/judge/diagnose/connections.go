// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/wait"
)

// A pool that has minFull of its connections in use on average is always full (ours): it is
// read once a second.
const minFull = 0.95

// refusedConnections is the bottleneck of a run whose transactions fail because the
// database has reached its connection limit; undetermined if it does not refuse them
// throughout.
func (a *analysis) refusedConnections() *certificate.Bottleneck {
	n := 0
	for _, refused := range a.drawn.refused {
		if refused {
			n++
		}
	}
	share := float64(n) / resamples
	confidence, sum := min(maxConfidence, share), a.hold.sum
	b := &certificate.Bottleneck{
		Component: Undetermined, Confidence: &confidence,
		Sentence: fmt.Sprintf("At %s/s, %s transactions failed or timed out, and the database refused %s connections because it had reached its connection limit.",
			number(a.hold.perSecond(scheduled)), number(sum[failed]+sum[timedOut]), number(a.refusals(sum))),
		Evidence: []string{fmt.Sprintf("The database refuses connections in %s of %d bootstrap resamples.", percent(share), resamples)},
	}
	if confidence < MinConfidence {
		return b
	}
	known := wait.About(a.server(), "", ConnectionStorm)
	b.Component, b.Confirm, b.Remedy = ConnectionStorm, known.Experiments, known.Remedy
	b.Sentence += fmt.Sprintf(" The bottleneck is %s: more connections are opened than the database accepts.", ConnectionStorm)
	return b
}

// refusedInstead is refusedConnections for a run that is slow too, if the time of its
// transactions names no component of the system. Refusals are counted, not timed: a
// generator that lacks CPU does not distort them.
func (a *analysis) refusedInstead(slow *certificate.Bottleneck) *certificate.Bottleneck {
	b := a.refusedConnections()
	if b.Component == Undetermined {
		return slow
	}
	b.Evidence = append(b.Evidence, slow.Sentence)
	return b
}

// connectionsRefused reports whether connections to the database were refused because it
// had reached its limit, at least half as many as transactions failed or timed out.
func (l *layout) connectionsRefused(sum []float64) bool {
	return sum[failed] > 0 && l.refusals(sum) > 0 && l.refusals(sum) >= (sum[failed]+sum[timedOut])/2
}

// refusals is the number of connections beyond the database's limit: as the service counts
// its own, or where it reports too seldom, as the database counts those of all clients.
func (l *layout) refusals(sum []float64) float64 {
	if l.known[serviceRefused] && sum[serviceSeen] >= minCoverage*sum[seconds] {
		return sum[serviceRefused]
	}
	return sum[refused]
}

// shownBySystem reports whether the service or the database itself shows that connections
// are what transactions wait for in vain. No burst of the generator keeps a pool full all
// the time, and who gave up or was refused is not counted by the generator.
func (a *analysis) shownBySystem(name string) bool {
	sum := a.hold.sum
	switch name {
	case Pool:
		gaveUp := sum[failed] > 0 && sum[poolTimeouts] >= (sum[failed]+sum[timedOut])/2
		return gaveUp || sum[poolMax] > 0 && sum[poolInUse] >= minFull*sum[poolMax]
	case ConnectionStorm:
		return a.connectionsRefused(sum)
	}
	return false
}
