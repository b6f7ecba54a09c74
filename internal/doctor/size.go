package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/spec"
)

// Load is a profile to run, and its plan.
type Load struct {
	Profile spec.Profile
	Plan    plan.Plan
}

// Size describes a plan for estimates of the resources that it needs.
type Size struct {
	Profile   string
	Workers   int
	WorkerVUs int     // maximum of one worker
	Peak      float64 // highest rate of all workers together, arrivals per second
	Arrivals  int64
	Duration  time.Duration
	Ledger    bool // identities are recorded
	Database  bool // the script opens connections to the database
}

// minimalSize is the size of the smallest plan, if none is named.
var minimalSize = Size{Workers: 1, WorkerVUs: 10, Peak: 10, Arrivals: 100, Duration: 10 * time.Second}

// SizeOf is the size of a load's plan.
func SizeOf(l Load) Size {
	s := Size{
		Profile: l.Profile.Name, Workers: len(l.Plan.Workers), Arrivals: l.Plan.Arrivals(),
		Duration: l.Plan.Duration() + l.Plan.Longest(), Peak: l.Plan.Peak(),
		Ledger: hasLedger(l.Profile), Database: l.Profile.NeedsDatabase(),
	}
	for _, w := range l.Plan.Workers {
		s.WorkerVUs = max(s.WorkerVUs, w.VUs)
	}
	return s
}

func hasLedger(p spec.Profile) bool {
	return slices.ContainsFunc(p.Flows, func(of spec.Flow) bool { return of.Ledger != nil })
}

// sizes are the sizes of all loads, or minimalSize if there are none.
func sizes(loads []Load) []Size {
	if len(loads) == 0 {
		return []Size{minimalSize}
	}
	all := make([]Size, len(loads))
	for i, l := range loads {
		all[i] = SizeOf(l)
	}
	return all
}

// coordinators are the sizes of runs whose workers run elsewhere, without the VUs.
func coordinators(all []Size) []Size {
	without := slices.Clone(all)
	for i := range without {
		without[i].WorkerVUs = 0
	}
	return without
}

// VUs is the number of VUs of all workers.
func (s Size) VUs() int { return s.Workers * s.WorkerVUs }

// Connections is the number of connections of all workers to the target: k6 keeps one
// connection per VU and host alive, for requests that are sent one after another.
func (s Size) Connections() int { return s.VUs() }

const (
	// baseDescriptors are the descriptors of a k6 process in addition to its VUs'
	// connections: 10 were observed, with 10, 100 and 1,000 VUs. The rest is for the
	// connections to the coordinator, further outputs, files that a script opens, and
	// batched requests; the coordinator's record and collectors need no more.
	baseDescriptors = 64
	// descriptorsPerWorker are those of the coordinator for each worker: two
	// connections, its log, and the file of the identities that it acknowledged.
	descriptorsPerWorker = 4
)

// Descriptors is the number of descriptors that one process needs, a worker or the
// coordinator.
func (s Size) Descriptors() int {
	perVU := 1
	if s.Database {
		perVU++
	}
	return max(s.WorkerVUs*perVU, s.Workers*descriptorsPerWorker) + baseDescriptors
}

// CPU time of the generator per transaction, s. Light: one GET to a target of 0.03 ms
// reached 12,000/s on one core. Heavy: in certified runs on two shared cores a worker
// used 0.09 CPUs at 100 payments/s and 0.05 CPUs at 25/s, with two requests each, hence
// 0.5 ms; and 0.29 CPUs at 1,000 ingestions/s, hence 0.25 ms.
const (
	lightTransaction = 1.0 / 12_000
	heavyTransaction = 0.0005
	idleWorkerCPU    = 0.04 // CPUs of a worker at any rate, from the same runs
)

// CPUs is the expected CPU usage of all workers at the highest rate, in CPUs: light for
// a script of one trivial request, heavy for one that builds bodies and checks responses.
func (s Size) CPUs() (light, heavy float64) {
	idle := idleWorkerCPU * float64(s.Workers)
	return idle + s.Peak*lightTransaction, idle + s.Peak*heavyTransaction
}

// Memory of workers: 55 MiB with 10 VUs; with 1,000 VUs 0.24 MiB more per VU for a script
// of one GET, and in certified runs, in which garbage collection is rare, 0.8 MiB per VU
// for ingestion and payment.
const (
	workerMemory = 80 << 20 // k6, and 12 MiB of the process that delivers its reports
	lightVU      = 256 << 10
	heavyVU      = 1 << 20
)

// Memory is the expected memory of all workers in bytes, for a light and for a heavy
// script.
func (s Size) Memory() (light, heavy int64) {
	base := int64(s.Workers) * workerMemory
	return base + int64(s.VUs())*lightVU, base + int64(s.VUs())*heavyVU
}

// Sizes of a record's parts, bytes. Certified runs of 100 s wrote 2.4 KB of frames per
// second from all sources, including one worker, and 40 bytes of ledger per acknowledged
// transaction, both sides together. A failed request is logged in a line of about 300
// bytes in a worker's log.
const (
	framesPerSecond = 2 << 10 // frames of all collectors together, and of each worker
	ledgerEntry     = 48
	recordBase      = 64 << 10
	logLine         = 300
)

// Files and folders of a run folder: 24 of every run, with those that exist while another
// one is written, and a log and the acknowledged transactions of each worker.
const (
	recordFiles = 24
	workerFiles = 2
)

// Disk is the expected size of the record in bytes; outage is its size if every
// transaction fails and is logged.
func (s Size) Disk() (record, outage int64) {
	record = recordBase + int64(s.Duration.Seconds())*framesPerSecond*int64(s.Workers+1)
	if s.Ledger {
		record += s.Arrivals * ledgerEntry
	}
	return record, record + s.Arrivals*logLine
}

// Files is the largest number of files and folders that the run folder needs.
func (s Size) Files() int64 { return recordFiles + workerFiles*int64(s.Workers) }

// String is the size and the expected CPU usage, for display.
func (s Size) String() string {
	light, heavy := s.CPUs()
	workers := fmt.Sprintf("%d VUs", s.WorkerVUs)
	if s.Workers > 1 {
		workers = fmt.Sprintf("%d workers of %d VUs", s.Workers, s.WorkerVUs)
	}
	return fmt.Sprintf("up to %s/s, %d arrivals in %s, %s, %d connections, %s to %s CPUs",
		quantity.Exact(s.Peak), s.Arrivals, s.Duration, workers, s.Connections(), quantity.Value(light, ""), quantity.Value(heavy, ""))
}

// largestBy is the size with the largest value of a measure.
func largestBy(all []Size, measure func(Size) float64) Size {
	return slices.MaxFunc(all, func(a, b Size) int { return cmp.Compare(measure(a), measure(b)) })
}

// forProfile is " for " and the profile's name, or empty if there is no profile.
func (s Size) forProfile() string {
	if s.Profile == "" {
		return ""
	}
	return " for " + s.Profile
}
