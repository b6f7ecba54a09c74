// Package arrivals is the open model: a schedule of transactions computed from
// the plan, and the k6 executor that follows it.
//
// Input: stages with exact arrival counts, a seed, a share of the fleet.
// Output: for each slot of the schedule one Transaction, whose latency counts
// from the scheduled instant, with two causes of its delay kept apart: every VU
// busy (the system under test), or the generator itself.
package arrivals
