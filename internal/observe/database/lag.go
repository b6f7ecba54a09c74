// SPDX-License-Identifier: Apache-2.0

package database

import "context"

// LagReader measures the lag of a replica or of another reader of the database.
// Its methods are called by one goroutine.
type LagReader interface {
	// Open connects; its error says why the lag cannot be read.
	Open(ctx context.Context) error
	// Lag is the current lag in ms.
	Lag(ctx context.Context) (float64, error)
	// Close disconnects, also after a failed Open.
	Close()
}
