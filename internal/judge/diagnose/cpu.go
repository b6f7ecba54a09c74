package diagnose

// Limits for deciding that a process lacks CPU (ours).
const (
	// A run queue is saturated if the process's threads wait in it at least
	// saturatedQueueRatio times as long as they run, and at least saturatedQueueLength of
	// them wait for each CPU that the process may use. Measured on two CPUs, the ratio is
	// 1 on a busy machine, and 3 or more on one that lacks CPU.
	saturatedQueueRatio  = 2.0
	saturatedQueueLength = 2.0
	// A process has used up its CPUs if it uses at least exhaustedShare of them while
	// exhaustedQueueLength threads wait for each; or, if the run queue is unknown, at least
	// exhaustedShareAlone of them.
	exhaustedShare       = 0.85
	exhaustedQueueLength = 0.5
	exhaustedShareAlone  = 0.95
	// A process whose run queue is saturated lacks CPU because of other processes if they
	// use at least othersShare of its CPUs. With less, it may lack CPU or wake more threads
	// at once than there are CPUs, as a group commit does. It does not lack CPU if its CPUs
	// are idle for at least idleShare of the time.
	othersShare = 0.65
	idleShare   = 0.1
)

// process is the columns of a process's CPUs.
type process struct{ cpu, cpus, queue, idle columnIndex }

var (
	databaseProcess = process{databaseCPU, databaseCPUs, databaseQueue, databaseIdle}
	serviceProcess  = process{serviceCPU, serviceCPUs, serviceQueue, serviceIdle}
)

// databaseLacksCPU reports whether the database or other processes use up its CPUs.
func (c comparison) databaseLacksCPU() bool {
	return c.lacksCPU(databaseProcess)
}

// lacksCPU reports whether a process uses up the CPUs that it may use, or its threads wait
// for CPUs that other processes use. If there is a baseline to compare with, threads must
// also wait at least twice as long as there.
func (c comparison) lacksCPU(p process) bool {
	used, allowed, queued := c.hold.sum[p.cpu], c.hold.sum[p.cpus], c.hold.sum[p.queue] // cpus: one value per second
	if !c.known[p.cpu] || !c.known[p.cpus] || allowed == 0 {
		return false
	}
	if !c.known[p.queue] {
		return used >= exhaustedShareAlone*allowed
	}
	byOthers := c.runQueueSaturated(p, c.hold) && c.known[p.idle] && !c.hasIdleCPU(p, c.hold) &&
		allowed-used-c.hold.sum[p.idle] >= othersShare*allowed
	byItself := used >= exhaustedShare*allowed && queued >= exhaustedQueueLength*allowed
	return (byOthers || byItself) && (c.noBaseline || c.hold.perSecond(p.queue) >= 2*c.base.perSecond(p.queue))
}

// runQueueSaturated reports whether the process's threads wait for CPUs much longer than
// they run.
func (l *layout) runQueueSaturated(p process, w window) bool {
	used, allowed, queued := w.sum[p.cpu], w.sum[p.cpus], w.sum[p.queue]
	return l.known[p.cpu] && l.known[p.cpus] && l.known[p.queue] && queued >= saturatedQueueRatio*used && queued >= saturatedQueueLength*allowed
}

// hasIdleCPU reports whether the CPUs that the process may use are idle part of the time.
func (l *layout) hasIdleCPU(p process, w window) bool {
	return l.known[p.idle] && w.sum[p.idle] >= idleShare*w.sum[p.cpus]
}
