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
	// covered is the share of a window's seconds that a source must tell of.
	covered = 0.8
	// explained is the share of the growth of a transaction's time that the
	// component must account for. In an overload clients and system do not see the
	// same transactions: what is still queued has been nowhere yet.
	explained = 1.0 / 3
	// heldLonger is by how much connections are held longer than their statements
	// take where they are held for something else.
	heldLonger = 2.0
	// slowSample is a time in ms that a sample of the sessions takes where CPU is
	// short; it takes 0.4 to 1 ms else, and 6 ms where 200 sessions wait for one row.
	slowSample = 10
)

// doubt is why the component that comes first is not named; empty: it is.
func (e *examination) doubt(leader int, share, lower float64) string {
	name := e.names[leader]
	ofDatabase, byKernel := e.isDatabase(leader), e.names[leader] == CPU && e.outOfCPU(e.hold, e.base)
	for _, reason := range []string{
		e.doubtOfGenerator(name),
		e.doubtOfWindows(),
		e.doubtOfSources(ofDatabase, byKernel),
		e.doubtOfPlace(name),
		e.doubtOfCPU(name, ofDatabase, byKernel),
		e.doubtOfPool(name),
		e.doubtOfShare(leader),
	} {
		if reason != "" {
			return reason
		}
	}
	switch {
	case e.level && e.levelLeader != "" && e.levelLeader != name:
		return fmt.Sprintf("%s grew most since the baseline, which breaks the SLO too", e.levelLeader)
	case share < Sure || lower <= 0:
		return fmt.Sprintf("only in %s of %d resamples of the seconds", percent(share), resamples)
	}
	return ""
}

// doubtOfGenerator: a rule that it broke is a fact, and what the system would
// have done under the load that was meant is not known.
func (e *examination) doubtOfGenerator(name string) string {
	if e.why.generator != "" && name != Generator {
		return "the generator broke " + e.why.generator + ", so that what the system would have done is not known"
	}
	return ""
}

func (e *examination) doubtOfWindows() string {
	n := e.hold.sum[seconds]
	if e.base.parts != nil {
		n = math.Min(n, e.base.sum[seconds])
	}
	if n < leastSeconds {
		return fmt.Sprintf("%.0f s are too short to tell", n)
	}
	return ""
}

// doubtOfSources: a source that told of one window and not of the other makes
// everything else seem to have grown, or itself.
func (e *examination) doubtOfSources(ofDatabase, byKernel bool) string {
	gap := func(seen quantity) (text string, ok bool) {
		hold := e.hold.sum[seen] / e.hold.sum[seconds]
		base := hold
		if e.base.parts != nil {
			base = e.base.sum[seen] / e.base.sum[seconds]
		}
		return fmt.Sprintf("%s of the judged seconds and %s of the baseline's", percent(hold), percent(base)),
			hold+base > 0 && (hold < covered || base < covered)
	}
	if text, ok := gap(serviceSeen); ok {
		return "the service told of itself in " + text
	}
	if text, ok := gap(databaseSeen); ok && !byKernel && !(ofDatabase && e.despiteGaps()) {
		return "the database was sampled in " + text
	}
	if e.why.collector != "" && ofDatabase && !byKernel && !e.despiteGaps() {
		return "the time is in the database, whose samples have gaps: " + e.why.collector
	}
	if sent, told := e.hold.sum[requests], e.hold.sum[serviceRequests]; !ofDatabase && e.known[serviceRequests] && told < covered*sent {
		return fmt.Sprintf("the service that was asked for its metrics answered %s of the requests: it is one of several", percent(told/sent))
	}
	return ""
}

// doubtOfPlace: places that hold what was not told apart.
func (e *examination) doubtOfPlace(name string) string {
	switch name {
	case Residual:
		return "the time is in nothing that was measured"
	case Script:
		return "the time is in the script, or in what it calls without HTTP"
	case Database:
		return "the time is in the database's statements, and nothing sampled what they wait for"
	case Outside:
		return "the time is in the service or behind it, which does not tell enough of itself; let it show its metrics"
	case Service:
		if !e.known[downstreamTime] && !e.computes() {
			return "the service tells of no calls to others, and used too little CPU for it: the time is in the service, or in something that it calls"
		}
	}
	return ""
}

// computes tells whether the service's CPU time accounts for what it grew by.
func (e *examination) computes() bool {
	if e.without(serviceProcess, e.hold, e.base) {
		return true
	}
	used := 1000 * (e.hold.sum[serviceCPU] + e.hold.sum[serviceQueue]) / e.ended(e.hold.sum)
	return used >= explained*e.roots[e.at[Service]]
}

// doubtOfCPU: sessions that show no wait are taken to run, which the kernel's
// account can deny; and of a server out of sight slow samples are all that tells
// of a lack of CPU.
func (e *examination) doubtOfCPU(name string, ofDatabase, byKernel bool) string {
	switch {
	case name == CPU && !byKernel && e.known[databaseCPU] && e.known[databaseQueue]:
		used := 1000 * (e.hold.sum[databaseCPU] + e.hold.sum[databaseQueue]) / e.ended(e.hold.sum)
		if used < explained*e.excessMs[e.at[CPU]] {
			return fmt.Sprintf("its sessions show no wait, and still its server had or wanted a CPU for %s of a transaction only", ms(used))
		}
	case ofDatabase && name != CPU && e.crowded(databaseProcess, e.hold) && !e.spared(databaseProcess, e.hold):
		return fmt.Sprintf("%s of the database's threads were ready to run and did not, at any time, while it used %s of %s CPUs: it may lack CPUs, or wake more threads at once than there are CPUs for",
			number(e.hold.sum[databaseQueue]/e.hold.sum[seconds]), number(e.hold.sum[databaseCPU]/e.hold.sum[seconds]), number(e.hold.sum[databaseCPUs]/e.hold.sum[seconds]))
	case ofDatabase && name != CPU && !e.known[databaseCPU] && e.slowSamples():
		return fmt.Sprintf("a look at the database's sessions, which waits for nothing but CPU, took %s on average, against %s: the database may have no CPU, and what it uses is not known",
			ms(e.hold.sum[sampleTime]/e.hold.sum[samples]), ms(e.base.sum[sampleTime]/e.base.sum[samples]))
	}
	return ""
}

// wakes says of a database whose threads stand in line while CPUs are idle that
// they come in crowds.
func (e *examination) wakes() string {
	h := e.hold.sum
	if !e.crowded(databaseProcess, e.hold) || !e.spared(databaseProcess, e.hold) {
		return ""
	}
	return fmt.Sprintf("%s of the database's threads were ready to run and did not, at any time, while %s of its CPUs' time was idle: many are woken at once.",
		number(h[databaseQueue]/h[seconds]), percent(h[databaseIdle]/h[databaseCPUs]))
}

func (e *examination) slowSamples() bool {
	h, b := e.hold.sum, e.base.sum
	if e.base.parts == nil || h[samples] == 0 || b[samples] == 0 {
		return false
	}
	now := h[sampleTime] / h[samples]
	return now >= slowSample && now >= 5*b[sampleTime]/b[samples]
}

// doubtOfPool: a small pool, slow statements and connections that are kept for
// something else look alike where their sizes and times are not known.
func (e *examination) doubtOfPool(name string) string {
	if name != Pool {
		return ""
	}
	taken, held := e.perTransaction(e.hold), e.held(e.hold)
	switch {
	case e.base.parts == nil:
		return "without a baseline a small pool and slow statements look alike"
	case !e.known[poolMax] && taken >= slowed*e.perTransaction(e.base):
		return "the pool's size is not known, and statements became slower: a small pool and slow statements look alike"
	case taken > 0 && held >= heldLonger*taken:
		return fmt.Sprintf("its connections are held for %s a transaction, and statements take %s of that: they are kept while something else is done", ms(held), ms(taken))
	}
	return ""
}

// doubtOfShare: WAITS section 6 asks that what is named accounts for the growth of
// a transaction's time.
func (e *examination) doubtOfShare(leader int) string {
	grown := e.mean(e.hold) - e.hold.parts[e.at[Queue]]
	if !e.level {
		grown -= e.mean(e.base) - e.base.parts[e.at[Queue]]
	}
	if e.roots[leader] < explained*grown {
		return fmt.Sprintf("that is less than a third of the %s to be explained", ms(grown))
	}
	return ""
}

// despiteGaps: a component of the database that leads by more than what was not
// sampled leads whatever that was.
func (e *examination) despiteGaps() bool {
	first, second := 0.0, 0.0
	for _, at := range e.databaseParts() {
		switch v := e.roots[at]; {
		case v > first:
			first, second = v, first
		case v > second:
			second = v
		}
	}
	taken := e.hold.sum[samples] / (e.hold.sum[seconds] * e.sampleRate())
	return first*taken > second+first*math.Max(0, 1-taken)
}

// sampleRate is how many samples a second the source means to take.
func (e *examination) sampleRate() float64 {
	for _, span := range e.spans {
		values, ok := e.run.Timeline.Gauge(metric.DBSampleRate, nil, collect.Database, span)
		for i, v := range values {
			if ok[i] && v > 0 {
				return v
			}
		}
	}
	return metric.DefaultSampleRate
}
