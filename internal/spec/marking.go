// SPDX-License-Identifier: Apache-2.0

package spec

// Marking says how the requests of a run are marked as test traffic. The zero value: not
// at all.
type Marking struct {
	Header  string  `json:"header,omitempty"`  // that holds the run's id; empty: requests are not marked
	Sampled float64 `json:"sampled,omitempty"` // share of transactions whose traceparent asks for their trace to be recorded, [0,1]
	Baggage bool    `json:"baggage,omitempty"` // they carry baggage, which instrumented services pass on
}

// Defaults of marking.
const (
	DefaultMarkingHeader = "X-Assay-Run"
	// DefaultSampled leaves enough traces to look at, without loading the tracing of a
	// system that samples about as much in production: it obeys the flag.
	DefaultSampled = 0.01
)

// DefaultMarking is that of a profile without the key.
var DefaultMarking = Marking{Header: DefaultMarkingHeader, Sampled: DefaultSampled, Baggage: true}
