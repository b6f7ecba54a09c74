// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"time"
)

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

// neighbour reads how a neighbour is watched: by counters, or by its health.
func (r *reader) neighbour(n *node) (b Neighbour) {
	if !r.object(n, []string{"url"}, []string{"errors", "total", "timeout"}) {
		return b
	}
	b.URL = r.metricsURL(n.get("url"))
	b.Errors, b.Total = r.selection(n.get("errors")), r.selection(n.get("total"))
	counted := false
	for _, keys := range [][2]string{{"errors", "total"}, {"total", "errors"}} {
		if c := n.get(keys[0]); c != nil {
			counted = true
			if !n.mayHave(keys[1]) {
				r.fail(c, fmt.Sprintf("%q requires %q", keys[0], keys[1]), "add "+exampleIn(n, keys[1]))
			}
		}
	}
	timeout := n.get("timeout")
	switch {
	case timeout == nil && !counted:
		b.Timeout = DefaultHealthTimeout
	case timeout == nil:
	case counted:
		r.fail(timeout, `"timeout" is for a URL of its health: it cannot be used with "errors" and "total"`, "")
	default:
		d, ok := r.duration(timeout)
		if b.Timeout = d; ok && (d <= 0 || d > maxHealthTimeout) {
			r.fail(timeout, fmt.Sprintf("timeout %v is out of range: want above 0 and at most %v", d, maxHealthTimeout), "")
		}
	}
	return b
}

// selection reads a Selection; empty if the key is missing.
func (r *reader) selection(n *node) string {
	if n == nil {
		return ""
	}
	text, ok := r.text(n)
	if !ok {
		return ""
	}
	if _, problem := ParseSelection(text); problem != "" {
		r.fail(n, problem, "write for example "+exampleOf(n))
	}
	return text
}
