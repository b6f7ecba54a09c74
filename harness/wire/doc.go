// Package wire is a worker's line to its coordinator: the start barrier, the
// frames, and the acknowledged identities, over HTTP with the run's token.
// Messages are idempotent, so that a worker may repeat what it did not see
// answered. The coordinator's ends of it are fleet.Coordinator and receiver.
package wire
