// SPDX-License-Identifier: Apache-2.0

package spec

import "time"

// Defaults of optional keys. Together they are a smoke run of less than two minutes:
// scenario, load.target and slo are the only keys that a profile needs.
// thresholds.schema.json and docs/profiles.md state them too.
const (
	// DefaultUnit: a scenario is a business flow, which may take several requests.
	DefaultUnit = "tps"
	// DefaultWarmup lets connections, pools and caches fill; nothing of it is
	// judged or compared.
	DefaultWarmup = 5 * time.Second
	// DefaultBaselineShare of the target is a little above the least,
	// BaselineShare: the lower the load, the clearer what grows with it.
	DefaultBaselineShare = 0.25
	// DefaultBaselineFor gives the diagnosis 20 seconds of waits to compare with,
	// as many as a hold has batches (docs/calibration.md).
	DefaultBaselineFor = 20 * time.Second
	// DefaultRamp is slow enough for pools to grow and processors to clock up, so
	// that the hold begins in a steady state.
	DefaultRamp = 15 * time.Second
	// DefaultHold is the shortest round time above 40 s, the least that the
	// inferred test takes (docs/calibration.md).
	DefaultHold = 60 * time.Second
	// DefaultCooldown keeps the target rate after the hold, so that its last
	// transactions run under the same load as its first.
	DefaultCooldown = 5 * time.Second
	// DefaultTimeout is when people give up (Nielsen's limit of attention, 1993), and
	// well above any latency worth an SLO.
	DefaultTimeout = 10 * time.Second
)
