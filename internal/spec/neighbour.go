// SPDX-License-Identifier: Apache-2.0

package spec

import "time"

// Neighbour is a service that shares something with the system under test, such as its
// database. It is watched by its own counters, or, without Errors, by its health.
type Neighbour struct {
	URL     string        `json:"url"`                  // of its metrics in Prometheus' text format, or of its health
	Errors  string        `json:"errors,omitempty"`     // Selection of the counters of failed requests
	Total   string        `json:"total,omitempty"`      // Selection of the counters of all requests
	Timeout time.Duration `json:"timeout_ns,omitempty"` // of its health: a later answer is a failure
}

const (
	// DefaultHealthTimeout is ten times what a health check needs on a busy machine.
	DefaultHealthTimeout = time.Second
	// maxHealthTimeout bounds how late an abort notices a neighbour that hangs.
	maxHealthTimeout = 10 * time.Second
)
