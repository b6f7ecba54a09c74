// Package wire is the protocol between a worker and its coordinator: the start
// barrier, the frames, and the acknowledged identities, over HTTP with the run's
// token. Messages are idempotent, so that a worker may repeat one without a response.
// The coordinator's side is fleet.Coordinator and the receiver.
package wire
