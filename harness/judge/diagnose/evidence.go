package diagnose

import (
	"fmt"
	"math"
)

// evidence is what else supports a component, and what the figures leave out.
func (a *analysis) evidence(name string, f Findings) (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	pool, queue, ofDatabase := a.at[Pool], a.at[Queue], a.isDatabase(a.at[name])
	if a.excessMs[pool] >= 1 && a.charged[pool] == 0 && ofDatabase {
		add("%s of waiting for a connection are charged to the statements: they became %s times slower, and at the baseline's statement times the pool would suffice.",
			ms(a.excessMs[pool]), number(a.statementsTime(a.hold)/a.statementsTime(a.base)))
	}
	if name == Pool {
		add("%s", a.poolEvidence())
	}
	if a.excessMs[queue] >= 1 {
		add("%s of waiting for a free VU follow from it: all VUs were busy with slow transactions.", ms(a.excessMs[queue]))
	}
	if a.change != "" {
		add("%s", a.change)
	}
	if name == CPU {
		all = append(all, a.cpuEvidence(f.Statements)...)
	}
	if text := a.burstEvidence(); text != "" && ofDatabase && name != CPU {
		add("%s", text)
	}
	if name == rowLock && a.holders.all > 0 {
		add("%s", a.holders.evidence())
	}
	if text := a.fastSelectEvidence(f.Statements); text != "" && (name == Pool || ofDatabase) {
		add("%s", text)
	}
	if t := a.hold.sum[statementTime]; ofDatabase && t > 0 && a.hold.sum[samples] > 0 {
		if gap := a.sampledTime(a.hold.sum)/t - 1; math.Abs(gap) > unfinished-1 {
			add("Sampled time differs from the statements' counters by %+.0f %%.", 100*gap)
		}
	}
	if rest := a.charged[a.at[Residual]]; rest >= 1 {
		add("%s are in no measured component.", ms(rest))
	}
	return append(all, "Times by component explain the mean, not a percentile.")
}

// poolEvidence is why the pool is taken for too small.
func (a *analysis) poolEvidence() string {
	before := a.statementsTime(a.base)
	if before == 0 {
		return "No measurement shows slow statements."
	}
	if share := a.poolUse(a.hold, before); share >= fullPool {
		return fmt.Sprintf("At the statement times of the baseline %s of the %s connections would be in use: the pool itself is too small.",
			percent(share), number(a.hold.perSecond(poolMax)))
	}
	return fmt.Sprintf("Statements became only %s times slower, which does not explain the wait for connections.", number(a.statementsTime(a.hold)/before))
}

// cpuEvidence says what the CPU is used for.
func (a *analysis) cpuEvidence(statements []Statement) (all []string) {
	if a.hold.sum[databaseCPU] > 0 {
		all = append(all, fmt.Sprintf("The database used %s of %s CPUs; on average %s of its threads waited in the run queue.",
			number(a.hold.perSecond(databaseCPU)), number(a.hold.perSecond(databaseCPUs)), number(a.hold.perSecond(databaseQueue))))
	}
	for _, s := range statements {
		if s.scans() && (a.noBaseline || s.slower()) {
			all = append(all, fmt.Sprintf("%s examines %s rows a call and takes %s of the database's time: an index may be missing.",
				s.Text, number(*s.RowsPerCall), percent(s.Share)))
			break
		}
	}
	return all
}

// burstEvidence tells of a database whose threads wait for CPUs while some are
// idle: they become ready in bursts.
func (a *analysis) burstEvidence() string {
	h := a.hold.sum
	if !a.runQueueSaturated(databaseProcess, a.hold) || !a.hasIdleCPU(databaseProcess, a.hold) {
		return ""
	}
	return fmt.Sprintf("On average %s of the database's threads waited in the run queue, while its CPUs were idle for %s of the time: many threads are woken at once.",
		number(a.hold.perSecond(databaseQueue)), percent(h[databaseIdle]/h[databaseCPUs]))
}

// evidence says what the sessions did that held the rows.
func (h lockHolders) evidence() string {
	what := "in " + h.event
	if h.event == "idle" {
		what = "idle in an open transaction: the application holds it open"
	}
	return fmt.Sprintf("For %s of the waiting sessions the holder of the row lock was %s.", percent(h.share), what)
}

// waitsLonger is the least ratio of a statement's wait for its connection to the
// time that it then takes, for it to look slower than it is.
const waitsLonger = 3

// fastSelectEvidence recognises the failure mode of report A: from the service
// the most frequent SELECT looks slow, because it waits for a connection.
func (a *analysis) fastSelectEvidence(statements []Statement) string {
	queue := a.hold.sum[poolTime]
	if !a.known[poolTime] {
		queue = a.hold.sum[acquireTime]
	}
	if a.hold.sum[queries] == 0 || queue == 0 {
		return ""
	}
	waited := queue / a.hold.sum[queries]
	s := mostFrequentSelect(statements)
	if s == nil || waited < waitsLonger**s.MsPerCall || waited < 1 {
		return ""
	}
	return fmt.Sprintf("The most frequent SELECT only looks slow: %s takes %s in the database; its caller also sees the wait for a connection before it, %s a statement.",
		s.Text, ms(*s.MsPerCall), ms(waited))
}
