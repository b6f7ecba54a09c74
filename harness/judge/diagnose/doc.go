// Package diagnose says where the time of a run went, and which component's
// growth made the run miss its SLOs.
//
// Input: a record.Run and its verdict. Output: Findings, the same for the same
// record: the package reads no clock, file, network or random source; its
// bootstrap draws from the run's own seed.
//
// The way there (WAITS section 6):
//
//	seconds.go    what each second of the record measured
//	split.go      a window's seconds -> mean time of a transaction by component
//	charge.go     queues are charged to what they queue for
//	bootstrap.go  how sure the growth of each component is
//	bottleneck.go the component that leads, or "undetermined"
//	change.go     where latency changed in the middle of a judged window
//	words.go      the same as sentences
//
// statements.go, waits.go and resources.go describe what the database did and
// what a transaction cost.
package diagnose
