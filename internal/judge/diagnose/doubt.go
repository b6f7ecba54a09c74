// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"math"

	"assay.dev/assay/internal/judge/verdict"
)

// Requirements for naming a component (ours).
const (
	minSeconds  = 5   // length of each window
	minCoverage = 0.8 // share of a window's seconds that a source reports on
	// minExplained is the share of the growth that the component must account for. It is
	// low because in an overload clients and system do not see the same transactions: one
	// that is still queued has not reached the system.
	minExplained = 1.0 / 3
	// Connections that are held minHeldRatio times as long as their statements take are
	// held during other work.
	minHeldRatio = 2.0
	// slowSample is the time in ms that a sample of the sessions takes on a server that
	// lacks CPU. Otherwise it takes 0.4 to 1 ms, or 6 ms if 200 sessions wait for one row.
	slowSample = 10
)

// doubt is the reason not to name the leading component; empty: it is named.
func (a *analysis) doubt(leader int, share, lower float64) string {
	name := a.names[leader]
	ofDatabase, cpuMeasured := a.isDatabase(leader), name == CPU && a.databaseLacksCPU()
	for _, reason := range []string{
		a.generatorDoubt(name),
		a.windowsDoubt(),
		a.sourcesDoubt(ofDatabase, cpuMeasured),
		a.componentDoubt(name),
		a.cpuDoubt(name, ofDatabase, cpuMeasured),
		a.poolDoubt(name),
		a.queueDoubt(name),
		a.shareDoubt(leader),
	} {
		if reason != "" {
			return reason
		}
	}
	switch {
	case a.noBaseline && a.grewMost != "" && a.grewMost != name:
		return fmt.Sprintf("%s grew most since the baseline, which breaks the SLO too", a.grewMost)
	case share < MinConfidence || lower <= 0:
		return fmt.Sprintf("with a confidence of only %s", percent(share))
	}
	return ""
}

// generatorDoubt: under a load other than planned the system may behave differently, and a
// generator that lacks CPU sends in bursts, which fill every queue.
func (a *analysis) generatorDoubt(name string) string {
	if !a.symptoms.loadDiffers && a.shownBySystem(name) {
		return ""
	}
	if a.symptoms.generator != "" && name != Generator {
		return "the generator broke rule " + a.symptoms.generator + ", so the system was not tested under the planned load"
	}
	return ""
}

func (a *analysis) windowsDoubt() string {
	n := a.hold.sum[seconds]
	if a.base.parts != nil {
		n = math.Min(n, a.base.sum[seconds])
	}
	if n < minSeconds {
		return fmt.Sprintf("a window of %.0f s is too short", n)
	}
	return ""
}

// sourcesDoubt: a source that reports on only one of the windows distorts the growth of
// its own components and of all others.
func (a *analysis) sourcesDoubt(ofDatabase, cpuMeasured bool) string {
	gap := func(seen columnIndex) (text string, found bool) {
		hold := a.hold.perSecond(seen)
		base := hold
		if a.base.parts != nil {
			base = a.base.perSecond(seen)
		}
		return fmt.Sprintf("%s of the judged seconds and %s of the baseline's", percent(hold), percent(base)),
			hold+base > 0 && (hold < minCoverage || base < minCoverage)
	}
	if text, found := gap(serviceSeen); found {
		return "the service reported metrics in " + text
	}
	if text, found := gap(databaseSeen); found && !cpuMeasured && !(ofDatabase && a.leadsDespiteGaps()) {
		return "the database was sampled in " + text
	}
	if a.symptoms.collector != "" && ofDatabase && !cpuMeasured && !a.leadsDespiteGaps() {
		return "the time is in the database, whose samples have gaps: " + a.symptoms.collector
	}
	if sent, served := a.hold.sum[requests], a.hold.sum[serviceRequests]; !ofDatabase && a.known[serviceRequests] && served < minCoverage*sent {
		return fmt.Sprintf("the service instance whose metrics were read served only %s of the requests: there are other instances, or its metrics do not count all routes", percent(served/sent))
	}
	return ""
}

// componentDoubt: some components stand for time that could not be separated further.
func (a *analysis) componentDoubt(name string) string {
	switch name {
	case Residual:
		return "the time is in no measured component"
	case Script:
		return "the time is in the script, or in calls that it makes without HTTP"
	case Database:
		return "the time is in the database's statements, and their waits were not sampled"
	case Network:
		if !a.wireShown() {
			return "no round trip was measured on it: the time is between what both ends measure, where a process that does not run looks the same"
		}
	case Unmeasured:
		if a.known[serviceTime] && (a.known[queryTime] || a.databaseKnown(a.hold.sum)) {
			return "the time is between the service and its callers, or between it and its database, and round trips do not account for it: it may be in a proxy, in a queue before the service, or in a service that did not run"
		}
		return "the time is in the service or behind it, and the service reports too little to tell which; have it export more metrics"
	case Service:
		if !a.known[downstreamTime] && !a.known[stubTime] && !a.serviceComputes() && !a.serviceQueues() {
			return "the service reports no calls to other services, and used too little CPU to explain the time, which is in the service or in a call that it makes"
		}
	}
	return ""
}

// serviceComputes reports whether the service's CPU time accounts for its growth.
func (c charges) serviceComputes() bool {
	if c.lacksCPU(serviceProcess) {
		return true
	}
	used := 1000 * (c.hold.sum[serviceCPU] + c.hold.sum[serviceQueue]) / c.ended(c.hold.sum)
	return used >= minExplained*c.charged[c.index[Service]]
}

// cpuDoubt: sessions without a wait count as running, which the kernel's accounting can
// refute; and if the CPU use of a server is unknown, slow samples are the only sign that
// it lacks CPU.
func (a *analysis) cpuDoubt(name string, ofDatabase, cpuMeasured bool) string {
	h := a.hold.sum
	switch {
	case name == CPU && !cpuMeasured && a.known[databaseCPU] && a.known[databaseQueue]:
		used := 1000 * (h[databaseCPU] + h[databaseQueue]) / a.ended(h)
		if used < minExplained*a.excessMs[a.index[CPU]] {
			return fmt.Sprintf("its sessions show no wait, yet the database ran or waited for a CPU for only %s per transaction", ms(used))
		}
	case ofDatabase && name != CPU && a.runQueueSaturated(databaseProcess, a.hold) && !a.hasIdleCPU(databaseProcess, a.hold):
		return fmt.Sprintf("on average %s of the database's threads waited in the run queue while it used %s of %s CPUs: it may lack CPUs, or wake more threads at once than there are CPUs",
			number(a.hold.perSecond(databaseQueue)), number(a.hold.perSecond(databaseCPU)), number(a.hold.perSecond(databaseCPUs)))
	case ofDatabase && name != CPU && !a.known[databaseCPU] && a.slowSamples():
		return fmt.Sprintf("sampling the database's sessions, which waits for nothing but CPU, took %s on average, against %s at the baseline: the database may lack CPU, and its CPU use is not known",
			ms(h[sampleTime]/h[samples]), ms(a.base.sum[sampleTime]/a.base.sum[samples]))
	}
	return ""
}

func (c comparison) slowSamples() bool {
	h, b := c.hold.sum, c.base.sum
	if c.base.parts == nil || h[samples] == 0 || b[samples] == 0 {
		return false
	}
	now := h[sampleTime] / h[samples]
	return now >= slowSample && now >= 5*b[sampleTime]/b[samples]
}

// poolDoubt: a small pool, slow statements and connections that are held during other work
// cannot always be distinguished.
func (a *analysis) poolDoubt(name string) string {
	if name != Pool {
		return ""
	}
	taken, held := a.statementsTime(a.hold), a.heldTime(a.hold)
	switch {
	case a.base.parts == nil:
		return "without a baseline, a small pool cannot be distinguished from slow statements"
	case !a.known[poolMax] && taken >= slowdown*a.statementsTime(a.base):
		return "the pool's size is not known, and statements became slower: a small pool cannot be distinguished from slow statements"
	case taken > 0 && held >= minHeldRatio*taken:
		return fmt.Sprintf("its connections are held for %s per transaction, and statements take %s of that: they are held during other work", ms(held), ms(taken))
	}
	return ""
}

// shareDoubt: the component must account for the growth of the time per transaction
// (docs/waits.md, Attribution).
func (a *analysis) shareDoubt(leader int) string {
	grown := a.hold.mean() - a.hold.parts[a.index[ArrivalQueue]]
	if !a.noBaseline {
		grown -= a.base.mean() - a.base.parts[a.index[ArrivalQueue]]
	}
	if a.charged[leader] < minExplained*grown {
		return fmt.Sprintf("that is less than a third of the %s to be explained", ms(grown))
	}
	return ""
}

// leadsDespiteGaps reports whether a component of the database leads by more than could
// have been missed in the gaps between samples.
func (a *analysis) leadsDespiteGaps() bool {
	first, second := 0.0, 0.0
	for _, at := range a.databaseParts {
		switch v := a.charged[at]; {
		case v > first:
			first, second = v, first
		case v > second:
			second = v
		}
	}
	taken := a.hold.sum[samples] / (a.hold.sum[seconds] * verdict.SampleRate(a.run.Timeline, a.spans))
	return first*taken > second+first*math.Max(0, 1-taken)
}
