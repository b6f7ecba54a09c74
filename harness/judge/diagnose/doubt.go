package diagnose

import (
	"fmt"
	"math"

	"assay/harness/observe/collect"
	"assay/harness/observe/metric"
)

// Limits of what is believed (ours).
const (
	// leastSeconds is how many seconds a window must have before a component is named.
	leastSeconds = 5
	// covered is the share of a window's seconds that a source must report on.
	covered = 0.8
	// explained is the share of the growth of a transaction's time that the
	// component must account for. In an overload clients and system do not see the
	// same transactions: one that is still queued has not reached the system.
	explained = 1.0 / 3
	// heldLonger is the least ratio of the time that connections are held to the
	// time that their statements take where they are held during other work.
	heldLonger = 2.0
	// slowSample is a time in ms that a sample of the sessions takes where CPU is
	// short; it takes 0.4 to 1 ms else, and 6 ms where 200 sessions wait for one row.
	slowSample = 10
)

// doubt is why the leading component is not named; empty: it is.
func (a *analysis) doubt(leader int, share, lower float64) string {
	name := a.names[leader]
	ofDatabase, cpuMeasured := a.isDatabase(leader), name == CPU && a.databaseLacksCPU(a.hold, a.base)
	for _, reason := range []string{
		a.doubtOfGenerator(name),
		a.doubtOfWindows(),
		a.doubtOfSources(ofDatabase, cpuMeasured),
		a.doubtOfComponent(name),
		a.doubtOfCPU(name, ofDatabase, cpuMeasured),
		a.doubtOfPool(name),
		a.doubtOfShare(leader),
	} {
		if reason != "" {
			return reason
		}
	}
	switch {
	case a.noBaseline && a.grewMost != "" && a.grewMost != name:
		return fmt.Sprintf("%s grew most since the baseline, which breaks the SLO too", a.grewMost)
	case share < Sure || lower <= 0:
		return fmt.Sprintf("it leads in only %s of %d bootstrap resamples", percent(share), resamples)
	}
	return ""
}

// doubtOfGenerator: under another load than the planned one the system may behave
// otherwise.
func (a *analysis) doubtOfGenerator(name string) string {
	if a.why.generator != "" && name != Generator {
		return "the generator broke " + a.why.generator + ", so that the system was not tested under the planned load"
	}
	return ""
}

func (a *analysis) doubtOfWindows() string {
	n := a.hold.sum[seconds]
	if a.base.parts != nil {
		n = math.Min(n, a.base.sum[seconds])
	}
	if n < leastSeconds {
		return fmt.Sprintf("a window of %.0f s is too short", n)
	}
	return ""
}

// doubtOfSources: a source that reports on one window and not on the other makes
// everything else seem to have grown, or itself.
func (a *analysis) doubtOfSources(ofDatabase, cpuMeasured bool) string {
	gap := func(seen columnIndex) (text string, ok bool) {
		hold := a.hold.perSecond(seen)
		base := hold
		if a.base.parts != nil {
			base = a.base.perSecond(seen)
		}
		return fmt.Sprintf("%s of the judged seconds and %s of the baseline's", percent(hold), percent(base)),
			hold+base > 0 && (hold < covered || base < covered)
	}
	if text, ok := gap(serviceSeen); ok {
		return "the service reported metrics in " + text
	}
	if text, ok := gap(databaseSeen); ok && !cpuMeasured && !(ofDatabase && a.leadsDespiteGaps()) {
		return "the database was sampled in " + text
	}
	if a.why.collector != "" && ofDatabase && !cpuMeasured && !a.leadsDespiteGaps() {
		return "the time is in the database, whose samples have gaps: " + a.why.collector
	}
	if sent, served := a.hold.sum[requests], a.hold.sum[serviceRequests]; !ofDatabase && a.known[serviceRequests] && served < covered*sent {
		return fmt.Sprintf("the service instance whose metrics were read served only %s of the requests: there are other instances", percent(served/sent))
	}
	return ""
}

// doubtOfComponent: components that hold what could not be separated.
func (a *analysis) doubtOfComponent(name string) string {
	switch name {
	case Residual:
		return "the time is in no measured component"
	case Script:
		return "the time is in the script, or in calls that it makes without HTTP"
	case Database:
		return "the time is in the database's statements, and their waits were not sampled"
	case Outside:
		return "the time is in the service or behind it, and the service reports too little to tell which; let it export its metrics"
	case Service:
		if !a.known[downstreamTime] && !a.serviceComputes() {
			return "the service reports no calls to other services, and used too little CPU to explain the time: it is in the service, or in a call that it makes"
		}
	}
	return ""
}

// serviceComputes: the service's CPU time accounts for what it grew by.
func (a *analysis) serviceComputes() bool {
	if a.lacksCPU(serviceProcess, a.hold, a.base) {
		return true
	}
	used := 1000 * (a.hold.sum[serviceCPU] + a.hold.sum[serviceQueue]) / a.ended(a.hold.sum)
	return used >= explained*a.charged[a.at[Service]]
}

// doubtOfCPU: sessions that show no wait count as running, which the kernel's
// accounting can refute; and of a server whose CPU use is not known slow samples
// are the only sign of a lack of CPU.
func (a *analysis) doubtOfCPU(name string, ofDatabase, cpuMeasured bool) string {
	h := a.hold.sum
	switch {
	case name == CPU && !cpuMeasured && a.known[databaseCPU] && a.known[databaseQueue]:
		used := 1000 * (h[databaseCPU] + h[databaseQueue]) / a.ended(h)
		if used < explained*a.excessMs[a.at[CPU]] {
			return fmt.Sprintf("its sessions show no wait, yet its server ran on a CPU or waited for one for only %s a transaction", ms(used))
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

func (a *analysis) slowSamples() bool {
	h, b := a.hold.sum, a.base.sum
	if a.base.parts == nil || h[samples] == 0 || b[samples] == 0 {
		return false
	}
	now := h[sampleTime] / h[samples]
	return now >= slowSample && now >= 5*b[sampleTime]/b[samples]
}

// doubtOfPool: a small pool, slow statements and connections that are held during
// other work look alike where their sizes and times are not known.
func (a *analysis) doubtOfPool(name string) string {
	if name != Pool {
		return ""
	}
	taken, held := a.statementsTime(a.hold), a.heldTime(a.hold)
	switch {
	case a.base.parts == nil:
		return "without a baseline a small pool and slow statements look alike"
	case !a.known[poolMax] && taken >= slowed*a.statementsTime(a.base):
		return "the pool's size is not known, and statements became slower: a small pool and slow statements look alike"
	case taken > 0 && held >= heldLonger*taken:
		return fmt.Sprintf("its connections are held for %s a transaction, and statements take %s of that: they are held during other work", ms(held), ms(taken))
	}
	return ""
}

// doubtOfShare: a component that is named accounts for the growth of a
// transaction's time (WAITS section 6).
func (a *analysis) doubtOfShare(leader int) string {
	grown := a.hold.mean() - a.hold.parts[a.at[Queue]]
	if !a.noBaseline {
		grown -= a.base.mean() - a.base.parts[a.at[Queue]]
	}
	if a.charged[leader] < explained*grown {
		return fmt.Sprintf("that is less than a third of the %s to be explained", ms(grown))
	}
	return ""
}

// leadsDespiteGaps: a component of the database leads by more than could have been in
// the gaps between samples.
func (a *analysis) leadsDespiteGaps() bool {
	first, second := 0.0, 0.0
	for _, at := range a.databaseParts() {
		switch v := a.charged[at]; {
		case v > first:
			first, second = v, first
		case v > second:
			second = v
		}
	}
	taken := a.hold.sum[samples] / (a.hold.sum[seconds] * a.sampleRate())
	return first*taken > second+first*math.Max(0, 1-taken)
}

// sampleRate is how many samples a second the source means to take.
func (a *analysis) sampleRate() float64 {
	for _, span := range a.spans {
		values, ok := a.run.Timeline.Gauge(metric.DBSampleRate, nil, collect.Database, span)
		for i, v := range values {
			if ok[i] && v > 0 {
				return v
			}
		}
	}
	return metric.DefaultSampleRate
}
