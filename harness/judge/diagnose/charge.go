package diagnose

import (
	"slices"

	"assay/harness/observe/wait"
)

// Limits by which time in a queue is charged to another component (ours).
const (
	// fullPool is the share of a pool's connections that would be in use at the
	// baseline's statement times from which on the pool itself is too small.
	fullPool = 0.7
	// slowed is the least factor by which statements must have become slower before
	// the wait for a connection is charged to them.
	slowed = 2.0
	// lateShare is the share of what has to be explained that a generator that
	// broke a rule must itself be late by before the rest is charged to it too.
	lateShare = 1.0 / 3
)

// excess is what has to be explained of a transaction's time by component: what
// it takes more than at the baseline; or, without a baseline to compare with, all
// of it but the script's own time, which is as it was written.
func (a *analysis) excess(hold, base window) parts {
	if a.noBaseline {
		g := slices.Clone(hold.parts)
		g[a.at[Script]] = 0
		return g
	}
	return growth(hold, base)
}

// growth is all of the time where there is no baseline.
func growth(hold, base window) parts {
	g := slices.Clone(hold.parts)
	for i, v := range base.parts {
		g[i] -= v
	}
	return g
}

// charge moves what has to be explained to the components that cause it: time in
// a queue belongs to what the queue waits for, where that became slower.
func (a *analysis) charge(excess parts, hold, base window) parts {
	charged := slices.Clone(excess)
	late := excess[a.at[Generator]] + excess[a.at[Network]]
	if a.why.generator != "" && !a.databaseLacksCPU(hold, base) && late >= lateShare*positive(excess) {
		// A generator that stalls now and then starts late, reads responses late
		// that came in time, and sends in bursts, which queue at every queue.
		for at := range charged {
			charged.move(at, a.at[Generator])
		}
		return charged
	}
	// Every VU was busy with slow transactions: the other components say why.
	charged[a.at[Queue]] = 0
	a.chargeCPU(charged, hold, base)
	a.chargeRowLocks(charged)
	a.chargePool(charged, hold, base)
	return charged
}

// positive is the sum of what grew, in ms.
func positive(p parts) (sum float64) {
	for _, v := range p {
		sum += max(0, v)
	}
	return sum
}

// move charges what one component grew by to another.
func (p parts) move(from, to int) {
	if p[from] > 0 && from != to {
		p[to] += p[from]
		p[from] = 0
	}
}

// databaseParts are the places of the components that statements spend their
// time in.
func (l *layout) databaseParts() []int {
	all := append([]int{l.at[Database], l.at[CPU]}, l.of...)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(at int) bool { return at == l.at[Network] || at == l.at[Opening] })
}

func (l *layout) isDatabase(at int) bool { return slices.Contains(l.databaseParts(), at) }

// chargeCPU: in a server that lacks CPU every other wait is a wait for a thread
// that is ready and does not run; a session that waits for a commit leader without
// a CPU shows the leader's wait. Likewise of the service.
func (a *analysis) chargeCPU(charged parts, hold, base window) {
	if a.databaseLacksCPU(hold, base) {
		for _, at := range append(a.databaseParts(), a.at[Network]) {
			charged.move(at, a.at[CPU])
		}
	}
	if a.lacksCPU(serviceProcess, hold, base) {
		charged.move(a.at[Network], a.at[Service])
	}
}

// chargeRowLocks: locks are held as long as their holders take. Where most
// holders are in one component, and that itself grew by at least half as much as
// the locks, the time in locks is charged to it.
func (a *analysis) chargeRowLocks(charged parts) {
	lock, known := a.at[rowLock]
	if !known || charged[lock] <= 0 {
		return
	}
	for at, n := range a.holders.byComponent {
		if n > a.holders.all/2 && at != lock && charged[at] >= charged[lock]/2 {
			charged.move(lock, at)
			return
		}
	}
}

var rowLock = wait.ComponentOf(wait.RowLock)

// chargePool: a pool queues because it is small, or because its connections come
// back late. It is small where at the baseline's statement times most of it would
// be in use, or where statements did not become much slower; else the queue is
// charged to what made them slower.
func (a *analysis) chargePool(charged parts, hold, base window) {
	pool := a.at[Pool]
	if charged[pool] <= 0 {
		return
	}
	slower, at := 0.0, a.databaseParts()
	for _, i := range at {
		slower += max(0, charged[i])
	}
	if slower == 0 || a.poolTooSmall(hold, base) {
		return
	}
	share := charged[pool] / slower
	charged[pool] = 0
	for _, i := range at {
		charged[i] += max(0, charged[i]) * share
	}
}

// poolTooSmall is true too where the pool's size is not known, and nothing tells a
// small one from slow statements; doubtOfPool then says so.
func (a *analysis) poolTooSmall(hold, base window) bool {
	now, before := a.statementsTime(hold), a.statementsTime(base)
	return before == 0 || now < slowed*before || !a.known[poolMax] || a.poolUse(hold, before) >= fullPool
}

// poolUse is the share of the pool's connections that would be in use if a
// transaction's statements took this many ms; 0 where the pool has no limit.
func (l *layout) poolUse(w window, ms float64) float64 {
	connections := w.sum[poolMax] // one value a second
	if connections == 0 {
		return 0
	}
	return ms / 1000 * w.sum[scheduled] / connections
}

// statementsTime is the time that a transaction's statements take, in ms.
func (l *layout) statementsTime(w window) float64 {
	if w.parts == nil {
		return 0
	}
	if l.known[queryTime] {
		return w.sum[queryTime] / l.ended(w.sum)
	}
	return l.statementTime(w.sum) / l.ended(w.sum)
}

// heldTime is how long a transaction holds connections, in ms, by Little's law; 0
// where that is not known.
func (l *layout) heldTime(w window) float64 { return w.sum[poolInUse] * 1000 / l.ended(w.sum) }
