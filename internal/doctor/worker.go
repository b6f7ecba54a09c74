package doctor

import (
	"fmt"
	"math"

	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/wire"
)

// CheckWorker is the check of a worker that has joined.
const CheckWorker = "worker"

// Worker judges whether the machine of a worker that has joined carries the worker's
// share of the plan, in descriptors, memory and CPUs. The number in a remedy is what
// would do. Another worker on the same machine is not considered.
func Worker(l Load, number int, m wire.Machine) Findings {
	s := SizeOf(l)
	w := l.Plan.Workers[number]
	s.Workers, s.WorkerVUs, s.Peak = 1, w.VUs, s.Peak*w.Share
	all := []Size{s}
	found := Findings{descriptors(m.Descriptors, all), memory(m.Available, all)}
	light, _ := s.CPUs()
	if light <= float64(m.CPUs) {
		return append(found, cpus(m.CPUs, all))
	}
	// More workers with smaller shares: each has a fixed cost, and the rest of its CPUs
	// for transactions.
	need := int(math.Ceil(l.Plan.Peak() * lightTransaction / (float64(m.CPUs) - idleWorkerCPU)))
	return append(found, fail(CheckWorker, fmt.Sprintf("%d CPUs", m.CPUs), quantity.Value(light, "")+" CPUs",
		fmt.Sprintf("its share, %s/s, needs at least %s CPUs, and it has %d", quantity.Exact(s.Peak), quantity.Value(light, ""), m.CPUs),
		fmt.Sprintf("use %d workers like it, or machines with %.0f CPUs, or shares by CPUs: --weights cpus", max(need, len(l.Plan.Workers)+1), math.Ceil(light))))
}
