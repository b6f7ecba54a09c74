package doctor

import (
	"fmt"
	"slices"
	"time"

	"assay/harness/plan"
	"assay/harness/spec"
)

// Load is one profile that is to be run, and its plan.
type Load struct {
	Profile spec.Profile
	Plan    plan.Plan
}

// Size is what a plan takes.
type Size struct {
	Profile   string
	Workers   int
	WorkerVUs int     // of one worker
	Peak      float64 // highest rate, arrivals a second, of all workers
	Arrivals  int64
	Duration  time.Duration
	Ledger    bool // identities are recorded
	Database  bool // the script opens connections to it
}

// everyRun is the least that any plan takes, where none is named.
var everyRun = Size{Workers: 1, WorkerVUs: 10, Peak: 10, Arrivals: 100, Duration: 10 * time.Second}

// SizeOf measures a plan.
func SizeOf(l Load) Size {
	s := Size{
		Profile: l.Profile.Name, Workers: len(l.Plan.Workers), Arrivals: l.Plan.Arrivals(),
		Duration: l.Plan.Duration() + l.Plan.Timeout,
		Ledger:   l.Profile.Ledger != nil, Database: slices.Contains(l.Profile.Needs, "db"),
	}
	for _, w := range l.Plan.Workers {
		s.WorkerVUs = max(s.WorkerVUs, w.VUs)
	}
	for _, stage := range l.Plan.Stages {
		s.Peak = max(s.Peak, stage.From, stage.To)
	}
	return s
}

// sizes are the sizes of all loads, or of any run where no load is named.
func sizes(loads []Load) []Size {
	if len(loads) == 0 {
		return []Size{everyRun}
	}
	all := make([]Size, len(loads))
	for i, l := range loads {
		all[i] = SizeOf(l)
	}
	return all
}

// VUs of all workers.
func (s Size) VUs() int { return s.Workers * s.WorkerVUs }

// Connections that all workers keep to the target: k6 keeps a VU's connection
// alive, one for each host that it talks to one by one.
func (s Size) Connections() int { return s.VUs() }

const (
	// ownDescriptors are what a k6 process holds beside its VUs' connections: 10
	// were seen, with 10, 100 and 1,000 VUs. The rest is for the line to the
	// coordinator, further outputs, files that a script opens, a batch of
	// requests; the coordinator's record and collectors take no more.
	ownDescriptors = 64
	// perWorker are what the coordinator holds for each: two lines, the log, the
	// identities that it acknowledged.
	perWorker = 4
)

// Descriptors that one process needs: each worker, or the coordinator.
func (s Size) Descriptors() int {
	perVU := 1
	if s.Database {
		perVU++
	}
	return max(s.WorkerVUs*perVU, s.Workers*perWorker) + ownDescriptors
}

// What a transaction costs the generator, s of CPU. Light: one GET to a target
// of 0.03 ms, 12,000/s on one core. Heavy: in certified runs on two shared cores
// a worker took 0.09 CPUs for 100 payments a second and 0.05 for 25, of two
// requests each, hence 0.5 ms; and 0.29 for 1,000 ingestions, 0.25 ms.
const (
	lightTransaction = 1.0 / 12_000
	heavyTransaction = 0.0005
	restingCPU       = 0.04 // of a worker whatever its rate, CPUs; from the same
)

// CPUs that all workers are expected to take at the highest rate: with a script
// of one trivial request, and with one that builds bodies and looks at answers.
func (s Size) CPUs() (light, heavy float64) {
	rest := restingCPU * float64(s.Workers)
	return rest + s.Peak*lightTransaction, rest + s.Peak*heavyTransaction
}

// What workers hold in memory: 55 MiB with 10 VUs; with 1,000 VUs 0.24 MiB more
// a VU for a script of one GET, and in certified runs (collections are rare
// then) 0.8 MiB a VU for ingestion and payment.
const (
	workerMemory = 64 << 20
	lightVU      = 256 << 10
	heavyVU      = 1 << 20
)

// Memory of all workers, bytes, of a light and of a heavy script.
func (s Size) Memory() (light, heavy int64) {
	rest := int64(s.Workers) * workerMemory
	return rest + int64(s.VUs())*lightVU, rest + int64(s.VUs())*heavyVU
}

// What a record takes, bytes. Certified runs of 100 s took 2.4 KB of frames a
// second from all sources, one worker among them, and 40 bytes of ledger an
// acknowledged transaction, both sides together. A failing request is a line of
// some 300 bytes in a worker's log.
const (
	framesPerSecond = 2 << 10 // and as much again for each worker
	ledgerEntry     = 48
	recordRest      = 64 << 10
	logLine         = 300
)

// Disk is what the record takes; and what it takes where every transaction
// fails, and is logged.
func (s Size) Disk() (record, outage int64) {
	record = recordRest + int64(s.Duration.Seconds())*framesPerSecond*int64(s.Workers+1)
	if s.Ledger {
		record += s.Arrivals * ledgerEntry
	}
	return record, record + s.Arrivals*logLine
}

// String tells the plan's sizes.
func (s Size) String() string {
	light, heavy := s.CPUs()
	workers := fmt.Sprintf("%d VUs", s.WorkerVUs)
	if s.Workers > 1 {
		workers = fmt.Sprintf("%d workers of %d VUs", s.Workers, s.WorkerVUs)
	}
	return fmt.Sprintf("up to %g/s, %d arrivals in %s, %s, %d connections, %.2g to %.2g CPUs",
		s.Peak, s.Arrivals, s.Duration, workers, s.Connections(), light, heavy)
}

// largestBy is the size that takes most by a measure.
func largestBy(all []Size, measure func(Size) float64) Size {
	return slices.MaxFunc(all, func(a, b Size) int {
		switch x, y := measure(a), measure(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
}

// of names the profile that a need is of, where there is one.
func (s Size) of() string {
	if s.Profile == "" {
		return ""
	}
	return " for " + s.Profile
}
