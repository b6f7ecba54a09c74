package database

import "context"

// LagReader reads how far a replica, or another reader of the database, is behind.
// Its methods are called by one goroutine.
type LagReader interface {
	// Open connects; its error says why the lag cannot be read.
	Open(ctx context.Context) error
	// Lag is how far the reader is behind now, in ms.
	Lag(ctx context.Context) (float64, error)
	// Close disconnects, also after a failed Open.
	Close()
}
