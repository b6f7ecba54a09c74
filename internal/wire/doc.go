// Package wire is the protocol between a worker and its coordinator: joining, the
// share of the load, the start barrier, frames and acknowledged identities, heartbeats
// that compare the two clocks, the worker's log and its exit. It runs over HTTP with the
// run's token. Messages are idempotent, so that a worker may repeat one without a
// response.
//
// A worker is two processes (package load/worker): k6, and a parent that speaks to the
// coordinator. The parent serves the part of the protocol that k6 uses on loopback.
// The coordinator's side is fleet.Coordinator and the receiver.
//
// Input: messages. Output: their encoding, a client, and the credentials of a run.
package wire
