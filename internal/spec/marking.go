// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

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

// headerName is a token (RFC 9110, section 5.1).
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")

// takenHeaders are those that k6 or net/http sets, that would change the request, or that
// marking sets too.
var takenHeaders = []string{
	"Baggage", "Connection", "Content-Length", "Cookie", "Host", "Te", "Traceparent", "Tracestate",
	"Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
}

func (r *reader) marking(n *node) Marking {
	if n == nil {
		return DefaultMarking
	}
	if n.kind == jsontext.KindFalse {
		return Marking{}
	}
	if n.kind == jsontext.KindTrue {
		r.fail(n, "want an object, or false", "remove it: requests are marked by default")
		return Marking{}
	}
	m := DefaultMarking
	if !r.object(n, nil, []string{"header", "sampled", "baggage"}) {
		return m
	}
	if h := n.get("header"); h != nil {
		m.Header = r.header(h)
	}
	if share := r.share(n.get("sampled")); share != nil {
		m.Sampled = *share
	}
	if b := n.get("baggage"); b != nil {
		m.Baggage = r.bool(b)
	}
	return m
}

// header reads the name of a header that requests may get in addition to their own.
func (r *reader) header(n *node) string {
	name, ok := r.text(n)
	switch {
	case !ok:
	case !headerName.MatchString(name):
		r.fail(n, fmt.Sprintf("%s is not the name of a header", quote(name)), "write for example "+exampleOf(n))
	case slices.ContainsFunc(takenHeaders, func(taken string) bool { return strings.EqualFold(taken, name) }):
		r.fail(n, fmt.Sprintf("header %s has another use", quote(name)), "write for example "+exampleOf(n))
	}
	return name
}
