// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Stub is a stand-in for a service that the system under test calls, as a profile names it.
type Stub struct {
	URL  string `json:"url"`            // base URL, at which the run reaches it
	File string `json:"file,omitempty"` // path of its file, relative to thresholds.json; empty: whatever the stub at URL runs
}

// StubPath is the path of a stub's file, which is relative to the thresholds file; empty if
// the profile names none.
func (f File) StubPath(s Stub) string {
	if s.File == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(f.Path), filepath.FromSlash(s.File))
}

// stubs checks the stubs of a profile.
func (r *reader) stubs(n *node, all map[string]Stub) {
	names := map[string]string{}
	for _, c := range n.all() {
		s := all[c.name]
		s.URL = strings.TrimSuffix(s.URL, "/")
		if s.File != "" {
			s.File = path.Clean(s.File)
		}
		if other, taken := names[s.URL]; taken && s.URL != "" {
			r.fail(c.get("url"), fmt.Sprintf("stub %s has the same URL", quote(other)), "give each stub an address of its own")
		}
		names[s.URL] = c.name
		if all != nil {
			all[c.name] = s
		}
	}
}

// StubFile is a decoded stub file: how a stub answers.
type StubFile struct {
	Path      string         // as the caller named it
	Digest    string         // "sha256:" and the hex digest of the file's bytes
	Listen    string         // host:port
	Seed      uint64         // seed of the draws
	Endpoints []StubEndpoint // at least one
	Phases    []StubPhase    // in the order of the file
}

// StubEndpoint is how a stub answers the calls of one route.
type StubEndpoint struct {
	Name        string
	Match       string // method and path, like "POST /charge" or "GET /charge/{id}"
	Latency     Latency
	Status      int             // status of an answer
	Body        json.RawMessage // body of an answer; nil: none
	Errors      []StubError
	Hang        float64    // share of calls that are never answered [0,1]
	Reset       float64    // share of calls whose connection is reset instead of an answer [0,1]
	Limit       *StubLimit // nil: none
	Concurrency int        // calls that are worked on at a time; 0: any number
	Background  bool       // no transaction waits for its calls
}

// StubError is an answer in place of the usual one.
type StubError struct {
	Rate   float64         `json:"rate"` // share of calls (0,1]
	Status int             `json:"status"`
	Body   json.RawMessage `json:"-"` // nothing in a record is made of it
}

// StubLimit is a token bucket. A call over it is answered at once with 429 and Retry-After.
type StubLimit struct {
	Rate  float64 `json:"rate"`  // calls per second
	Burst int     `json:"burst"` // calls at once
}

// StubPhase changes endpoints for a part of the run. What is nil stays as it is.
type StubPhase struct {
	Name          string        `json:"name"`
	From          time.Duration `json:"from_ns"`             // from the start of the run
	For           time.Duration `json:"for_ns,omitempty"`    // 0: until the end of the run
	Endpoints     []string      `json:"endpoints,omitempty"` // by name; empty: all
	LatencyFactor *float64      `json:"latency_factor,omitempty"`
	Errors        *[]StubError  `json:"errors,omitempty"`
	Hang          *float64      `json:"hang,omitempty"`
	Reset         *float64      `json:"reset,omitempty"`
	Limit         *StubLimit    `json:"limit,omitempty"`
	Concurrency   *int          `json:"concurrency,omitempty"`
}

// Holds reports whether the phase holds at a time since the start of the run.
func (p StubPhase) Holds(since time.Duration) bool { return since >= p.From && since < p.End() }

// End is when the phase ends, from the start of the run.
func (p StubPhase) End() time.Duration {
	if p.For == 0 {
		return math.MaxInt64
	}
	return p.From + p.For
}

// Concerns reports whether the phase changes an endpoint.
func (p StubPhase) Concerns(endpoint string) bool {
	return len(p.Endpoints) == 0 || slices.Contains(p.Endpoints, endpoint)
}

// At is the endpoint as it answers in a phase, and the factor on its latency.
func (e StubEndpoint) At(p StubPhase) (_ StubEndpoint, latencyFactor float64) {
	if !p.Concerns(e.Name) {
		return e, 1
	}
	return e.in(p)
}

// in is At for a phase that changes the endpoint.
func (e StubEndpoint) in(p StubPhase) (_ StubEndpoint, latencyFactor float64) {
	latencyFactor = 1
	set(&latencyFactor, p.LatencyFactor)
	set(&e.Errors, p.Errors)
	set(&e.Hang, p.Hang)
	set(&e.Reset, p.Reset)
	set(&e.Concurrency, p.Concurrency)
	if p.Limit != nil {
		e.Limit = p.Limit
	}
	return e, latencyFactor
}

func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}

// Latency is a lognormal distribution, like that of remote services: many near the median,
// and a long tail. With P50 = P99 every latency is the same.
type Latency struct {
	P50, P99 time.Duration // 0 <= P50 <= P99
}

// z99 is the 0.99 quantile of the standard normal distribution.
const z99 = 2.3263478740408408

// At is the latency of a draw z from the standard normal distribution:
//
//	P50 x exp(sigma x z), sigma = ln(P99 / P50) / z99
func (l Latency) At(z float64) time.Duration {
	if l.P50 <= 0 {
		return 0
	}
	sigma := math.Log(float64(l.P99)/float64(l.P50)) / z99
	return time.Duration(min(float64(l.P50)*math.Exp(sigma*z), math.MaxInt64/2))
}
