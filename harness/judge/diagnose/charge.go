package diagnose

import (
	"slices"

	"assay/harness/observe/wait"
)

// Limits of the reasoning below (ours).
const (
	// fullPool is the share of a pool's connections that would be in use at the
	// baseline's statement times: from there on it queues by itself.
	fullPool = 0.7
	// slowed is by how much statements must have become slower before a queue in
	// front of them is charged to them.
	slowed = 2.0
	// starving is the time that a process's threads are ready but do not run, to
	// the time that they do run, and waiting is how many of them are so at any
	// time for each CPU that it may use, from which on the lack of CPU is what its
	// other waits come from. A machine that is merely busy shows 1, one that is
	// starved 3 and more (both seen on two CPUs).
	starving = 2.0
	waiting  = 2.0
	// busy is the share of the CPUs it may use from which on a process has none
	// left, if threads stand in line for them too: full where that is not known.
	busy   = 0.85
	inLine = 0.5
	full   = 0.95
	// robbed is the share of the CPUs it may use from which on it is others that
	// have them while its threads stand in line. Below that it may lack CPUs, or wake
	// more threads at once than there are CPUs for, as a group of commits does: where
	// they are idle for spare of their time they are not what is lacking.
	robbed = 0.65
	spare  = 0.1
	// lateness is the share of what has to be explained that a generator that broke
	// a rule must itself be late by before the rest is taken for its doing.
	lateness = 1.0 / 3
)

// side is one window: the sums of its seconds, and a transaction's time.
type side struct {
	sum   []float64
	parts parts
}

func (l *layout) side(sum []float64) side { return side{sum, l.split(sum)} }

// excess is what has to be explained of a transaction's time by component: what
// it takes more than at the baseline; or, where the baseline is no measure, all
// of it but for the script's own, which is as it was written.
func (e *examination) excess(hold, base side) parts {
	if e.level {
		g := slices.Clone(hold.parts)
		g[e.at[Script]] = 0
		return g
	}
	return growth(hold, base)
}

// growth is all of it where there is no baseline.
func growth(hold, base side) parts {
	g := slices.Clone(hold.parts)
	for i, v := range base.parts {
		g[i] -= v
	}
	return g
}

// charge turns what has to be explained by component into the same by root: time
// that is spent queueing belongs to what the queue stands before, where that
// became slower.
func (e *examination) charge(g parts, hold, base side) parts {
	roots := slices.Clone(g)
	if late := g[e.at[Generator]] + g[e.at[Network]]; e.why.generator != "" && !e.outOfCPU(hold, base) && late >= lateness*positive(g) {
		// A generator that stands still now and then starts late, takes late what
		// came in time, and sends in bursts, which queue wherever there is a queue.
		for at := range roots {
			e.move(roots, at, e.at[Generator])
		}
		return roots
	}
	// Every VU was busy with transactions that took long: the rest tells why.
	roots[e.at[Queue]] = 0
	e.chargeCPU(roots, hold, base)
	e.chargeRowLocks(roots)
	e.chargePool(roots, hold, base)
	return roots
}

// positive is the sum of what grew.
func positive(g parts) (ms float64) {
	for _, v := range g {
		ms += max(0, v)
	}
	return ms
}

// move charges what one component grew by to another.
func (e *examination) move(roots parts, from int, to int) {
	if roots[from] > 0 && from != to {
		roots[to] += roots[from]
		roots[from] = 0
	}
}

// databaseParts are the places of the components that statements spend their
// time in.
func (l *layout) databaseParts() []int {
	all := append([]int{l.at[Database], l.at[CPU]}, l.of...)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(at int) bool { return at == l.at[Network] || at == l.at[Opening] })
}

// chargeCPU: of a server whose threads are ready and do not run, every other
// wait is a wait for one of those threads; who waits for a leader that has no CPU
// shows the leader's wait. The same of the service.
func (e *examination) chargeCPU(roots parts, hold, base side) {
	if e.outOfCPU(hold, base) {
		for _, at := range append(e.databaseParts(), e.at[Network]) {
			e.move(roots, at, e.at[CPU])
		}
	}
	if e.without(serviceProcess, hold, base) {
		e.move(roots, e.at[Network], e.at[Service])
	}
}

// outOfCPU: the database has no CPU to work with, its own or other processes
// having them all.
func (e *examination) outOfCPU(hold, base side) bool {
	return e.without(databaseProcess, hold, base)
}

// process are the quantities that tell of one's CPUs.
type process struct{ cpu, cpus, queue, idle quantity }

var (
	databaseProcess = process{databaseCPU, databaseCPUs, databaseQueue, databaseIdle}
	serviceProcess  = process{serviceCPU, serviceCPUs, serviceQueue, serviceIdle}
)

// without tells of a process that has no CPU: it uses up those that it may, or
// others do while its threads wait for them; and, where growth is
// what has to be explained, at least twice as long as at the baseline.
func (e *examination) without(p process, hold, base side) bool {
	used, allowed, waited := hold.sum[p.cpu], hold.sum[p.cpus], hold.sum[p.queue] // cpus: one value a second
	if !e.known[p.cpu] || !e.known[p.cpus] || allowed == 0 {
		return false
	}
	if !e.known[p.queue] {
		return used >= full*allowed
	}
	starved := e.crowded(p, hold) && e.known[p.idle] && !e.spared(p, hold) && allowed-used-hold.sum[p.idle] >= robbed*allowed
	usedUp := used >= busy*allowed && waited >= inLine*allowed
	return (starved || usedUp) && (e.level || waited/hold.sum[seconds] >= 2*base.sum[p.queue]/base.sum[seconds])
}

// crowded: the process's threads stand in line for CPUs much longer than they
// have them.
func (l *layout) crowded(p process, s side) bool {
	used, allowed, waited := s.sum[p.cpu], s.sum[p.cpus], s.sum[p.queue]
	return l.known[p.cpu] && l.known[p.cpus] && l.known[p.queue] && waited >= starving*used && waited >= waiting*allowed
}

// spared: the CPUs that the process may use are idle now and then.
func (l *layout) spared(p process, s side) bool {
	return l.known[p.idle] && s.sum[p.idle] >= spare*s.sum[p.cpus]
}

// chargeRowLocks: locks are held as long as their holders take. Where most
// holders are in one component, and that took longer by itself by at least half
// of what the locks did, the locks are its work.
func (e *examination) chargeRowLocks(roots parts) {
	lock, known := e.at[rowLock]
	if !known || roots[lock] <= 0 {
		return
	}
	for at, n := range e.holders.byComponent {
		if n > e.holders.all/2 && at != lock && roots[at] >= roots[lock]/2 {
			e.move(roots, lock, at)
			return
		}
	}
}

var rowLock = wait.ComponentOf(wait.RowLock)

// chargePool: a pool queues because it is small, or because its connections come
// back late. It is small where at the baseline's statement times most of it would
// be in use, or where statements did not become slower to speak of; else the
// queue is charged to what made them slower.
func (e *examination) chargePool(roots parts, hold, base side) {
	pool := e.at[Pool]
	if roots[pool] <= 0 {
		return
	}
	slower, at := 0.0, e.databaseParts()
	for _, i := range at {
		slower += max(0, roots[i])
	}
	if slower == 0 || e.tooSmall(hold, base) {
		return
	}
	share := roots[pool] / slower
	roots[pool] = 0
	for _, i := range at {
		roots[i] += max(0, roots[i]) * share
	}
}

// tooSmall: so too where the pool's size is not known, and there is nothing to
// tell a small one from slow statements by; doubt is then said.
func (e *examination) tooSmall(hold, base side) bool {
	now, before := e.perTransaction(hold), e.perTransaction(base)
	return before == 0 || now < slowed*before || !e.known[poolMax] || e.inUse(hold, before) >= fullPool
}

// inUse is the share of the pool's connections that transactions would have in
// use whose statements take so many ms; 0 where the pool has no limit.
func (l *layout) inUse(s side, ms float64) float64 {
	connections := s.sum[poolMax] // one value a second
	if connections == 0 {
		return 0
	}
	return ms / 1000 * s.sum[scheduled] / connections
}

// perTransaction is the time that a transaction's statements take, in ms.
func (l *layout) perTransaction(s side) float64 {
	if s.parts == nil {
		return 0
	}
	if l.known[queryTime] {
		return s.sum[queryTime] / l.ended(s.sum)
	}
	return l.statementTime(s.sum) / l.ended(s.sum)
}

// held is how long a transaction holds connections, in ms, by Little's law; 0
// where that is not known.
func (l *layout) held(s side) float64 { return s.sum[poolInUse] * 1000 / l.ended(s.sum) }
