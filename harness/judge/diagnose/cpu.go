package diagnose

// Limits by which a process lacks CPU (ours).
const (
	// queueToUse is the least time that a process's threads wait in the run queue,
	// to the time that they run, and queueLength the least number of them that wait
	// for each CPU that it may use, from which on its run queue is saturated. A
	// machine that is merely busy shows 1, one short of CPU 3 and more (both seen
	// on two CPUs).
	queueToUse  = 2.0
	queueLength = 2.0
	// usedUp is the share of the CPUs that it may use from which on a process has
	// none left, if usedUpQueue threads wait for each: usedUpAlone where the run
	// queue is not known.
	usedUp      = 0.85
	usedUpQueue = 0.5
	usedUpAlone = 0.95
	// stolenShare is the share of the CPUs that a process may use from which on
	// others have them while its run queue is saturated. Below that it may lack
	// CPUs, or wake more threads at once than there are CPUs, as a group commit
	// does: where CPUs are idle for idleShare of their time they are not lacking.
	stolenShare = 0.65
	idleShare   = 0.1
)

// process is the columns of a process's CPUs.
type process struct{ cpu, cpus, queue, idle columnIndex }

var (
	databaseProcess = process{databaseCPU, databaseCPUs, databaseQueue, databaseIdle}
	serviceProcess  = process{serviceCPU, serviceCPUs, serviceQueue, serviceIdle}
)

// databaseLacksCPU: it uses up its CPUs, or other processes do.
func (a *analysis) databaseLacksCPU(hold, base window) bool {
	return a.lacksCPU(databaseProcess, hold, base)
}

// lacksCPU tells of a process that uses up the CPUs that it may use, or whose
// threads wait for CPUs that others use; and, where growth is what has to be
// explained, that wait at least twice as long as at the baseline.
func (a *analysis) lacksCPU(p process, hold, base window) bool {
	used, allowed, queued := hold.sum[p.cpu], hold.sum[p.cpus], hold.sum[p.queue] // cpus: one value a second
	if !a.known[p.cpu] || !a.known[p.cpus] || allowed == 0 {
		return false
	}
	if !a.known[p.queue] {
		return used >= usedUpAlone*allowed
	}
	byOthers := a.runQueueSaturated(p, hold) && a.known[p.idle] && !a.hasIdleCPU(p, hold) &&
		allowed-used-hold.sum[p.idle] >= stolenShare*allowed
	byItself := used >= usedUp*allowed && queued >= usedUpQueue*allowed
	return (byOthers || byItself) && (a.noBaseline || hold.perSecond(p.queue) >= 2*base.perSecond(p.queue))
}

// runQueueSaturated: the process's threads wait for CPUs much longer than they
// run on them.
func (l *layout) runQueueSaturated(p process, w window) bool {
	used, allowed, queued := w.sum[p.cpu], w.sum[p.cpus], w.sum[p.queue]
	return l.known[p.cpu] && l.known[p.cpus] && l.known[p.queue] && queued >= queueToUse*used && queued >= queueLength*allowed
}

// hasIdleCPU: the CPUs that the process may use are idle for some of the time.
func (l *layout) hasIdleCPU(p process, w window) bool {
	return l.known[p.idle] && w.sum[p.idle] >= idleShare*w.sum[p.cpus]
}
