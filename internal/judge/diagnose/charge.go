package diagnose

import (
	"slices"

	"assay.dev/assay/internal/observe/wait"
)

// Limits for charging time in a queue to another component (ours).
const (
	// fullPoolShare: a pool is too small if at least this share of its connections would
	// be in use at the baseline's statement times.
	fullPoolShare = 0.7
	// slowdown: the wait for a connection is charged to statements that take at least this
	// many times as long as at the baseline.
	slowdown = 2.0
	// lateShare: everything is charged to a generator that broke a rule if late starts and
	// the network are at least this share of the growth.
	lateShare = 1.0 / 3
)

// excess is the time per transaction to be explained, by component: the growth since the
// baseline or, without a baseline to compare with, all of the time except the script's
// own, which is as intended.
func (c comparison) excess() parts {
	if c.noBaseline {
		g := slices.Clone(c.hold.parts)
		g[c.index[Script]] = 0
		return g
	}
	return c.growth()
}

// growth is the time in the hold minus that at the baseline, if there is one.
func (c comparison) growth() parts {
	g := slices.Clone(c.hold.parts)
	for i, v := range c.base.parts {
		g[i] -= v
	}
	return g
}

// charge moves the excess to the components that cause it: time in a queue is charged to
// what the queue waits for, if that became slower.
func (c comparison) charge() charges {
	excess := c.excess()
	all := charges{comparison: c, excessMs: excess, queued: make(parts, len(excess)), charged: slices.Clone(excess)}
	late := excess[c.index[Generator]] + excess[c.index[Network]] + excess[c.index[Unmeasured]]
	if c.generatorBroken && !c.databaseLacksCPU() && late >= lateShare*positive(excess) {
		// A generator that stalls starts transactions late, reads responses late, and
		// sends in bursts, which fill every queue.
		for at := range all.charged {
			all.charged.move(at, c.index[Generator])
		}
		return all
	}
	// Every VU was busy because transactions are slow: other components say why.
	all.charged[c.index[ArrivalQueue]] = 0
	c.chargeStopped(all.charged)
	c.chargeCPU(all.charged)
	c.chargeRowLocks(all.charged)
	c.chargePool(all.charged, all.queued)
	c.chargeNeighbours(all.charged, all.queued)
	return all
}

// positive is the sum of the positive parts, in ms.
func positive(p parts) (sum float64) {
	for _, v := range p {
		sum += max(0, v)
	}
	return sum
}

// move charges the growth of one component to another.
func (p parts) move(from, to int) {
	if p[from] > 0 && from != to {
		p[to] += p[from]
		p[from] = 0
	}
}

// chargeCPU charges the time in the database to CPU if the database lacks CPU: all waits
// are then waits for threads that are ready but do not run. A session that waits for a
// commit leader without a CPU, for example, shows a commit wait. Likewise, the network and
// what nothing measures are charged to a service that lacks CPU.
func (c comparison) chargeCPU(charged parts) {
	if c.databaseLacksCPU() || c.neighbourUsesCPU() {
		for _, at := range c.databaseParts {
			charged.move(at, c.index[CPU])
		}
		charged.move(c.index[Network], c.index[CPU])
		charged.move(c.index[Unmeasured], c.index[CPU])
	}
	if c.lacksCPU(serviceProcess) {
		charged.move(c.index[Network], c.index[Service])
		charged.move(c.index[Unmeasured], c.index[Service])
	}
}

// chargeRowLocks charges the wait for row locks to the component that most of the lock
// holders are in, if that component grew by at least half as much: locks are held for as
// long as their holders take.
func (c comparison) chargeRowLocks(charged parts) {
	lock, known := c.index[rowLock]
	if !known || charged[lock] <= 0 {
		return
	}
	for at, n := range c.holders.byComponent {
		if n > c.holders.all/2 && at != lock && charged[at] >= charged[lock]/2 {
			charged.move(lock, at)
			return
		}
	}
}

var rowLock = wait.ComponentOf(wait.RowLock)

// chargePool charges the wait for a connection to what holds connections for longer than
// at the baseline, in proportion: to statements, and to their way between service and
// database. A pool queues because it is small, or because its connections are returned
// late: if the pool itself is too small, nothing is charged. If it is only too small
// because of the statements' way, the wait is charged in proportion to all of the time held.
func (c comparison) chargePool(charged, queued parts) {
	pool := c.index[Pool]
	if charged[pool] <= 0 {
		return
	}
	var holders parts
	switch {
	case !c.poolTooSmall():
		holders = c.heldLonger(charged)
	case c.wayFillsPool():
		holders = c.held(c.hold)
	}
	total := positive(holders)
	if total == 0 {
		return
	}
	share := charged[pool] / total
	charged[pool] = 0
	for i, ms := range holders {
		queued[i] = max(0, ms) * share
		charged[i] += queued[i]
	}
}

// held is the time for which a transaction holds connections, by component.
func (l *layout) held(w window) parts {
	held := make(parts, len(w.parts))
	for _, i := range l.databaseParts {
		held[i] = w.parts[i]
	}
	held[l.index[Network]], held[l.index[Unmeasured]] = l.wayOf(w)
	return held
}

// wayFillsPool reports whether a pool that is too small at the baseline's statement times
// as the service measures them would be half empty at those that the database measures.
func (c comparison) wayFillsPool() bool {
	if c.base.parts == nil || !c.known[queryTime] || !c.databaseKnown(c.base.sum) || c.poolUse(c.hold, c.statementsTime(c.base)) < fullPoolShare {
		return false
	}
	return c.poolUse(c.hold, c.statementTime(c.base.sum)/c.ended(c.base.sum)) < fullPoolShare/2
}

// heldLonger is the growth of the time for which a transaction holds connections, by the
// component that it is charged to.
func (c comparison) heldLonger(charged parts) parts {
	longer := make(parts, len(charged))
	for _, i := range c.databaseParts {
		longer[i] = charged[i]
	}
	wire, unseen := c.wayOf(c.hold)
	wireBefore, unseenBefore := c.wayOf(c.base)
	// No more than is left of it: the rest was charged to another component.
	for name, ms := range map[string]float64{Network: wire - wireBefore, Unmeasured: unseen - unseenBefore} {
		longer[c.index[name]] = min(max(0, ms), max(0, charged[c.index[name]]))
	}
	return longer
}

// wayOf is statementsWay per transaction, in ms.
func (l *layout) wayOf(w window) (wire, unseen float64) {
	if w.parts == nil || !l.databaseKnown(w.sum) {
		return 0, 0
	}
	wire, unseen = l.statementsWay(w.sum)
	n := l.ended(w.sum)
	return wire / n, unseen / n
}

// poolTooSmall reports whether most of the pool would be in use at the baseline's
// statement times, or statements did not become much slower. It is also true if the pool's
// size is unknown, so that a small pool cannot be distinguished from slow statements;
// poolDoubt then says so.
func (c comparison) poolTooSmall() bool {
	now, before := c.statementsTime(c.hold), c.statementsTime(c.base)
	return before == 0 || now < slowdown*before || !c.known[poolMax] || c.poolUse(c.hold, before) >= fullPoolShare
}

// poolUse is the share of the pool's connections that would be in use if the statements
// of a transaction took this many ms; 0 if the pool has no limit.
func (l *layout) poolUse(w window, ms float64) float64 {
	connections := w.sum[poolMax] // one value per second
	if connections == 0 {
		return 0
	}
	return ms / 1000 * w.sum[scheduled] / connections
}

// statementsTime is the time that the statements of a transaction take, in ms.
func (l *layout) statementsTime(w window) float64 {
	if w.parts == nil {
		return 0
	}
	if l.known[queryTime] {
		return w.sum[queryTime] / l.ended(w.sum)
	}
	return l.statementTime(w.sum) / l.ended(w.sum)
}

// heldTime is how long a transaction holds connections, in ms: as the pool measures it, or
// by Little's law; 0 if it is unknown.
func (l *layout) heldTime(w window) float64 {
	if l.known[poolUseTime] {
		return w.sum[poolUseTime] / l.ended(w.sum)
	}
	return w.sum[poolInUse] * 1000 / l.ended(w.sum)
}
