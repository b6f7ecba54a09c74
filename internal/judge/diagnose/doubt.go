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

// doubts answers why the leading component of an analysis is not named.
type doubts struct{ *analysis }

// doubt is the reason not to name the leading component; empty: it is named.
func (d doubts) doubt(leader int, share, lower float64) string {
	name := d.names[leader]
	ofDatabase, cpuMeasured := d.isDatabase(leader), name == CPU && d.databaseLacksCPU()
	for _, reason := range []string{
		d.generatorDoubt(name),
		d.windowsDoubt(),
		d.sourcesDoubt(ofDatabase, cpuMeasured),
		d.componentDoubt(name),
		d.cpuDoubt(name, ofDatabase, cpuMeasured),
		d.poolDoubt(name),
		d.queueDoubt(name),
		d.shareDoubt(leader),
	} {
		if reason != "" {
			return reason
		}
	}
	switch {
	case d.noBaseline && d.grewMost != "" && d.grewMost != name:
		return fmt.Sprintf("%s grew most since the baseline, which breaks the SLO too", d.grewMost)
	case share < MinConfidence || lower <= 0:
		return fmt.Sprintf("with a confidence of only %s", percent(share))
	}
	return ""
}

// generatorDoubt: under a load other than planned the system may behave differently, and a
// generator that lacks CPU sends in bursts, which fill every queue.
func (d doubts) generatorDoubt(name string) string {
	if !d.symptoms.loadDiffers && d.shownBySystem(name) {
		return ""
	}
	if d.symptoms.generator != "" && name != Generator {
		return "the generator broke rule " + d.symptoms.generator + ", so the system was not tested under the planned load"
	}
	return ""
}

func (d doubts) windowsDoubt() string {
	n := d.hold.sum[seconds]
	if d.base.parts != nil {
		n = math.Min(n, d.base.sum[seconds])
	}
	if n < minSeconds {
		return fmt.Sprintf("a window of %.0f s is too short", n)
	}
	return ""
}

// sourcesDoubt: a source that reports on only one of the windows distorts the growth of
// its own components and of all others.
func (d doubts) sourcesDoubt(ofDatabase, cpuMeasured bool) string {
	gap := func(seen columnIndex) (text string, found bool) {
		hold := d.hold.perSecond(seen)
		base := hold
		if d.base.parts != nil {
			base = d.base.perSecond(seen)
		}
		return fmt.Sprintf("%s of the judged seconds and %s of the baseline's", percent(hold), percent(base)),
			hold+base > 0 && (hold < minCoverage || base < minCoverage)
	}
	if text, found := gap(serviceSeen); found {
		return "the service reported metrics in " + text
	}
	if text, found := gap(databaseSeen); found && !cpuMeasured && !(ofDatabase && d.leadsDespiteGaps()) {
		return "the database was sampled in " + text
	}
	if d.symptoms.collector != "" && ofDatabase && !cpuMeasured && !d.leadsDespiteGaps() {
		return "the time is in the database, whose samples have gaps: " + d.symptoms.collector
	}
	if sent, served := d.hold.sum[requests], d.hold.sum[serviceRequests]; !ofDatabase && d.known[serviceRequests] && served < minCoverage*sent {
		return fmt.Sprintf("the service instance whose metrics were read served only %s of the requests: there are other instances, or its metrics do not count all routes", percent(served/sent))
	}
	return ""
}

// componentDoubt: some components stand for time that could not be separated further.
func (d doubts) componentDoubt(name string) string {
	switch name {
	case Residual:
		return "the time is in no measured component"
	case Script:
		return "the time is in the script, or in calls that it makes without HTTP"
	case Database:
		return "the time is in the database's statements, and their waits were not sampled"
	case Network:
		if !d.wireShown() {
			return "no round trip was measured on it: the time is between what both ends measure, where a process that does not run looks the same"
		}
	case Unmeasured:
		if d.known[serviceTime] && (d.known[queryTime] || d.databaseKnown(d.hold.sum)) {
			return "the time is between the service and its callers, or between it and its database, and round trips do not account for it: it may be in a proxy, in a queue before the service, or in a service that did not run"
		}
		return "the time is in the service or behind it, and the service reports too little to tell which; have it export more metrics"
	case Service:
		if !d.known[downstreamTime] && !d.known[stubTime] && !d.serviceComputes() && !d.serviceQueues() {
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
func (d doubts) cpuDoubt(name string, ofDatabase, cpuMeasured bool) string {
	h := d.hold.sum
	switch {
	case name == CPU && !cpuMeasured && d.known[databaseCPU] && d.known[databaseQueue]:
		used := 1000 * (h[databaseCPU] + h[databaseQueue]) / d.ended(h)
		if used < minExplained*d.excessMs[d.index[CPU]] {
			return fmt.Sprintf("its sessions show no wait, yet the database ran or waited for a CPU for only %s per transaction", ms(used))
		}
	case ofDatabase && name != CPU && d.runQueueSaturated(databaseProcess, d.hold) && !d.hasIdleCPU(databaseProcess, d.hold):
		return fmt.Sprintf("on average %s of the database's threads waited in the run queue while it used %s of %s CPUs: it may lack CPUs, or wake more threads at once than there are CPUs",
			number(d.hold.perSecond(databaseQueue)), number(d.hold.perSecond(databaseCPU)), number(d.hold.perSecond(databaseCPUs)))
	case ofDatabase && name != CPU && !d.known[databaseCPU] && d.slowSamples():
		return fmt.Sprintf("sampling the database's sessions, which waits for nothing but CPU, took %s on average, against %s at the baseline: the database may lack CPU, and its CPU use is not known",
			ms(h[sampleTime]/h[samples]), ms(d.base.sum[sampleTime]/d.base.sum[samples]))
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
func (d doubts) poolDoubt(name string) string {
	if name != Pool {
		return ""
	}
	taken, held := d.statementsTime(d.hold), d.heldTime(d.hold)
	switch {
	case d.base.parts == nil:
		return "without a baseline, a small pool cannot be distinguished from slow statements"
	case !d.known[poolMax] && taken >= slowdown*d.statementsTime(d.base):
		return "the pool's size is not known, and statements became slower: a small pool cannot be distinguished from slow statements"
	case taken > 0 && held >= minHeldRatio*taken:
		return fmt.Sprintf("its connections are held for %s per transaction, and statements take %s of that: they are held during other work", ms(held), ms(taken))
	}
	return ""
}

// shareDoubt: the component must account for the growth of the time per transaction
// (docs/waits.md, Attribution).
func (d doubts) shareDoubt(leader int) string {
	grown := d.hold.mean() - d.hold.parts[d.index[ArrivalQueue]]
	if !d.noBaseline {
		grown -= d.base.mean() - d.base.parts[d.index[ArrivalQueue]]
	}
	if d.charged[leader] < minExplained*grown {
		return fmt.Sprintf("that is less than a third of the %s to be explained", ms(grown))
	}
	return ""
}

// leadsDespiteGaps reports whether a component of the database leads by more than could
// have been missed in the gaps between samples.
func (d doubts) leadsDespiteGaps() bool {
	first, second := 0.0, 0.0
	for _, at := range d.databaseParts {
		switch v := d.charged[at]; {
		case v > first:
			first, second = v, first
		case v > second:
			second = v
		}
	}
	taken := d.hold.sum[samples] / (d.hold.sum[seconds] * verdict.SampleRate(d.run.Timeline, d.spans))
	return first*taken > second+first*math.Max(0, 1-taken)
}
