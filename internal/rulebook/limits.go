// SPDX-License-Identifier: Apache-2.0

package rulebook

import "time"

// Limits that are the same for every profile.
const (
	CertificateHold = 600 * time.Second // least time for which a certificate holds its target (MLPerf)
	MaxSkewMs       = 1000              // largest spread of the workers' first arrivals (ours)
	ClockShare      = 0.1               // share of the tightest bound of a time by which clocks may differ or be stepped (ours)
	RecommendedCPU  = 0.5               // largest recommended share of its CPUs that a generator uses (Hyperfoil, Graviton runbook)
	MaxDelayMs      = 5000              // longest time that a report of a worker may take to reach the record (ours)
	UnlikeFactor    = 2                 // between a worker's p95 and the median p95 of the others (ours)
	MaxDrift        = 0.1               // largest drift of latency over a judged window, as a share of its mean (ours)
	MaxSilent       = 0.01              // share of the transactions that may send nothing: the planned load was not offered (ours)
	MaxBehind       = 0.01              // share of a window's arrivals by which completions may fall behind the schedule (ours)
)

// Limits that a profile may override. Arrivals that the generator lost or displaced must be
// few compared with the violations that the SLOs allow: ShareOfQ is a share of the smallest
// q, the share of violations that a percentile allows.
const (
	ShareOfQ               = 0.1             // ours
	MaxDrops               = 0.001           // however loose the SLOs are (Nighthawk, FD.io CSIT)
	DisplacedWithoutBounds = 0.01            // ours: as for p(90), if no percentile is judged
	MaxGeneratorCPU        = 0.8             // Hyperfoil's watchdog
	MaxTaken               = 0.02            // ours: of a host's CPU time, stolen or throttled
	MinCollected           = 0.99            // ours: of the database samples
	MaxCollectorGap        = 2 * time.Second // ours: between two database samples
)
