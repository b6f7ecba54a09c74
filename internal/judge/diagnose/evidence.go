// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"math"
)

// evidence lists what else supports a component, and what the figures do not show.
func (e explanation) evidence(name string) (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	queue, ofDatabase := e.index[ArrivalQueue], e.isDatabase(e.index[name])
	if queued := e.queuedForStatements(); queued >= 1 && ofDatabase {
		add("%s of waiting for a connection is charged to the statements: they take %s times as long as at the baseline, and at the baseline's statement times the pool would suffice.",
			ms(queued), number(e.statementsTime(e.hold)/e.statementsTime(e.base)))
	}
	if name == Network || name == Unmeasured || name == Service || name == Pool {
		all = append(all, e.wayEvidence()...)
	}
	if name == Downstream {
		all = append(all, e.calls().stubEvidence()...)
	}
	if text := e.stoppedSentence(); text != "" {
		add("%s", text)
	}
	if name == Service && e.serviceQueues() {
		add("%s", e.queueSentence())
	}
	if client, _ := largestNeighbour(e.found.Waits); client != "" {
		all = append(all, e.neighbourEvidence()...)
	}
	if name == Pool {
		add("%s", e.poolEvidence())
		if n := e.hold.sum[poolTimeouts]; n > 0 {
			add("The service gave up waiting for a connection %s times; %s transactions failed or timed out.", number(n), number(e.hold.sum[failed]+e.hold.sum[timedOut]))
		}
	}
	if e.excessMs[queue] >= 1 {
		add("%s of waiting for a free VU is a consequence: all VUs were busy with slow transactions.", ms(e.excessMs[queue]))
	}
	if e.change != "" {
		add("%s", e.change)
	}
	if name == CPU {
		all = append(all, e.cpuEvidence()...)
	}
	if text := e.burstEvidence(); text != "" && ofDatabase && name != CPU {
		add("%s", text)
	}
	if name == rowLock && e.holders.all > 0 {
		add("%s", e.holders.evidence())
	}
	if text := e.fastSelectEvidence(); text != "" && (name == Pool || ofDatabase) {
		add("%s", text)
	}
	if t := e.hold.sum[statementTime]; ofDatabase && t > 0 && e.hold.sum[samples] > 0 {
		if gap := e.sampledTime(e.hold.sum)/t - 1; math.Abs(gap) > maxSampledRatio-1 {
			add("Sampled time differs from the statement counters by %+.0f %%.", 100*gap)
		}
	}
	if rest := e.charged[e.index[Residual]]; rest >= 1 {
		add("%s is in no measured component.", ms(rest))
	}
	return append(all, "Times by component explain the mean, not a percentile.")
}

// queuedForStatements is the wait for connections that is charged to statements, in ms per
// transaction.
func (c charges) queuedForStatements() (ms float64) {
	for _, at := range c.databaseParts {
		ms += c.queued[at]
	}
	return ms
}

// poolEvidence says why the pool itself is considered too small.
func (c comparison) poolEvidence() string {
	before := c.statementsTime(c.base)
	if before == 0 {
		return "No measurement shows that statements became slower."
	}
	if share := c.poolUse(c.hold, before); share >= fullPoolShare {
		return fmt.Sprintf("At the statement times of the baseline, %s of the %s connections would be in use: the pool itself is too small.",
			percent(share), number(c.hold.perSecond(poolMax)))
	}
	return fmt.Sprintf("Statements take only %s times as long as at the baseline, which does not explain the wait for connections.", number(c.statementsTime(c.hold)/before))
}

// cpuEvidence says what the CPU is used for.
func (e explanation) cpuEvidence() (all []string) {
	if e.hold.sum[databaseCPU] > 0 {
		all = append(all, fmt.Sprintf("The database used %s of %s CPUs; on average %s of its threads waited in the run queue.",
			number(e.hold.perSecond(databaseCPU)), number(e.hold.perSecond(databaseCPUs)), number(e.hold.perSecond(databaseQueue))))
	}
	for _, s := range e.found.Statements {
		if scans(s) && (e.noBaseline || slower(s)) {
			all = append(all, fmt.Sprintf("%s examines %s rows per call and takes %s of the database's time: an index may be missing.",
				s.Text, number(*s.RowsPerCall), percent(s.Share)))
			break
		}
	}
	return all
}

// burstEvidence describes a database whose threads wait for CPUs while CPUs are idle: the
// threads become ready in bursts.
func (c comparison) burstEvidence() string {
	h := c.hold.sum
	if !c.runQueueSaturated(databaseProcess, c.hold) || !c.hasIdleCPU(databaseProcess, c.hold) {
		return ""
	}
	return fmt.Sprintf("On average %s of the database's threads waited in the run queue, while its CPUs were idle for %s of the time: many threads are woken at once.",
		number(c.hold.perSecond(databaseQueue)), percent(h[databaseIdle]/h[databaseCPUs]))
}

// evidence says what the holders of row locks were doing.
func (h lockHolders) evidence() string {
	what := "in " + h.event
	switch {
	case h.event == "idle" && h.neighbour != "":
		what = "idle in an open transaction of " + h.neighbour + ", another client of the database"
	case h.event == "idle":
		what = "idle in an open transaction: the application holds it open"
	case h.neighbour != "":
		what += ", in a session of " + h.neighbour + ", another client of the database"
	}
	return fmt.Sprintf("For %s of the waiting sessions the holder of the row lock was %s.", percent(h.share), what)
}

// minWaitRatio is the least ratio of the wait for a connection to the time of the
// statement that makes the statement look slow from the service.
const minWaitRatio = 3

// fastSelectEvidence recognises the failure mode of report A: the most frequent SELECT
// looks slow from the service because it waits for a connection.
func (e explanation) fastSelectEvidence() string {
	queue := e.hold.sum[poolTime]
	if !e.known[poolTime] {
		queue = e.hold.sum[acquireTime]
	}
	if e.hold.sum[queries] == 0 || queue == 0 {
		return ""
	}
	waited := queue / e.hold.sum[queries]
	s := mostFrequentSelect(e.found.Statements)
	if s == nil || waited < minWaitRatio**s.MsPerCall || waited < 1 {
		return ""
	}
	return fmt.Sprintf("The most frequent SELECT only looks slow: %s takes %s in the database; its caller also sees the wait for a connection before it, %s per statement.",
		s.Text, ms(*s.MsPerCall), ms(waited))
}
