// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"math"
)

// evidence lists what else supports a component, and what the figures do not show.
func (a *analysis) evidence(name string) (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	queue, ofDatabase := a.index[ArrivalQueue], a.isDatabase(a.index[name])
	if queued := a.queuedForStatements(); queued >= 1 && ofDatabase {
		add("%s of waiting for a connection is charged to the statements: they take %s times as long as at the baseline, and at the baseline's statement times the pool would suffice.",
			ms(queued), number(a.statementsTime(a.hold)/a.statementsTime(a.base)))
	}
	if name == Network || name == Unmeasured || name == Service || name == Pool {
		all = append(all, a.wayEvidence()...)
	}
	if name == Downstream {
		all = append(all, a.stubEvidence()...)
	}
	if text := a.stoppedSentence(); text != "" {
		add("%s", text)
	}
	if name == Service && a.serviceQueues() {
		add("%s", a.queueSentence())
	}
	if client, _ := largestNeighbour(a.found.Waits); client != "" {
		all = append(all, a.neighbourEvidence()...)
	}
	if name == Pool {
		add("%s", a.poolEvidence())
		if n := a.hold.sum[poolTimeouts]; n > 0 {
			add("The service gave up waiting for a connection %s times; %s transactions failed or timed out.", number(n), number(a.hold.sum[failed]+a.hold.sum[timedOut]))
		}
	}
	if a.excessMs[queue] >= 1 {
		add("%s of waiting for a free VU is a consequence: all VUs were busy with slow transactions.", ms(a.excessMs[queue]))
	}
	if a.change != "" {
		add("%s", a.change)
	}
	if name == CPU {
		all = append(all, a.cpuEvidence()...)
	}
	if text := a.burstEvidence(); text != "" && ofDatabase && name != CPU {
		add("%s", text)
	}
	if name == rowLock && a.holders.all > 0 {
		add("%s", a.holders.evidence())
	}
	if text := a.fastSelectEvidence(); text != "" && (name == Pool || ofDatabase) {
		add("%s", text)
	}
	if t := a.hold.sum[statementTime]; ofDatabase && t > 0 && a.hold.sum[samples] > 0 {
		if gap := a.sampledTime(a.hold.sum)/t - 1; math.Abs(gap) > maxSampledRatio-1 {
			add("Sampled time differs from the statement counters by %+.0f %%.", 100*gap)
		}
	}
	if rest := a.charged[a.index[Residual]]; rest >= 1 {
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
func (a *analysis) cpuEvidence() (all []string) {
	if a.hold.sum[databaseCPU] > 0 {
		all = append(all, fmt.Sprintf("The database used %s of %s CPUs; on average %s of its threads waited in the run queue.",
			number(a.hold.perSecond(databaseCPU)), number(a.hold.perSecond(databaseCPUs)), number(a.hold.perSecond(databaseQueue))))
	}
	for _, s := range a.found.Statements {
		if scans(s) && (a.noBaseline || slower(s)) {
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
func (a *analysis) fastSelectEvidence() string {
	queue := a.hold.sum[poolTime]
	if !a.known[poolTime] {
		queue = a.hold.sum[acquireTime]
	}
	if a.hold.sum[queries] == 0 || queue == 0 {
		return ""
	}
	waited := queue / a.hold.sum[queries]
	s := mostFrequentSelect(a.found.Statements)
	if s == nil || waited < minWaitRatio**s.MsPerCall || waited < 1 {
		return ""
	}
	return fmt.Sprintf("The most frequent SELECT only looks slow: %s takes %s in the database; its caller also sees the wait for a connection before it, %s per statement.",
		s.Text, ms(*s.MsPerCall), ms(waited))
}
