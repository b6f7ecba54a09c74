// SPDX-License-Identifier: Apache-2.0

// Package diagnose says where the time of a run went, and which component's growth made
// the run miss its SLOs.
//
// Input: a record.Run and its verdict. Output: Findings, the same for the same
// record: the package reads no clock, file, network or random source; its
// bootstrap draws from the run's own seed.
//
// The steps (docs/waits.md, Attribution):
//
//	symptoms.go    what is wrong, according to the verdict
//	columns.go     what each second of the record measured
//	seconds.go     the seconds of a window, as a table of those columns
//	split.go       a window's sums -> mean time per transaction, by component
//	clients.go     which clients of the database are the load's, and which are neighbours
//	way.go         what was measured of the wire
//	charge.go      time in queues is charged to what the queue waits for
//	cpu.go         which processes lack CPU
//	stubs.go       what stubs of other services measured, and retries
//	stopped.go     a service that was stopped or throttled
//	queue.go       waiting for a free worker of the service
//	neighbour.go   what other clients of the database are charged for
//	bootstrap.go   confidence intervals of the growth of each component
//	confidence.go  how sure the leading component is, given what was not measured
//	bottleneck.go  the leading component, or "undetermined"
//	doubt.go       reasons not to name the leading component
//	change.go      where latency changed within a judged window
//	sentence.go    the result as sentences
//	evidence.go    the measurements behind it
//
// Each step answers with a value of its own. A layout splits a window; a comparison of two
// windows says what grew, and charges are what that is charged to; a resampling says how sure
// both are. An analysis holds them with the record.
//
// statements.go, waits.go and resources.go describe what the database did and
// what a transaction cost.
package diagnose
