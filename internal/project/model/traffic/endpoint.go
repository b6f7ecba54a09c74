package traffic

import (
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/project/model/keys"
	"assay.dev/assay/internal/project/model/route"
)

// Classes are the classes of status codes: 1 for 1xx to 9 for 9xx, 0 for none.
const Classes = 10

// Endpoint is a method and a template of paths, with what was requested of it.
type Endpoint struct {
	Method   accesslog.Method
	Segments []Segment
	Requests uint64
	Status   [Classes]uint64 // requests by class
	Latency  metric.Hist     // ms, of the requests that were answered with a status below 400
	// Keys are the values of the path where the template has a placeholder; else of the whole
	// target, which may have keys in its query.
	Keys  keys.Sketch
	Names map[string]uint64 // requests by names in the query; "": names that may identify something

	variable bool // the template has a placeholder
	seconds  series
	into     *Endpoint // this one was merged into; nil: none
}

// Segment is one of a template.
type Segment struct {
	Literal string     `json:"literal,omitempty"` // empty with a Kind: a placeholder
	Kind    route.Kind `json:"kind,omitzero"`     // kind of the placeholder; route.Literal: it is none
	Suffix  string     `json:"suffix,omitempty"`  // extension of the placeholder
}

// Template is the path, with {id} for placeholders.
func (e *Endpoint) Template() (path string) {
	for _, s := range e.Segments {
		path += "/" + s.String()
	}
	return path
}

func (s Segment) String() string {
	if s.Kind == route.Literal {
		return s.Literal
	}
	return "{id}" + s.Suffix
}

// AddTo adds the requests of each second to those of seconds, of which the first is from, in
// seconds since 1970.
func (e *Endpoint) AddTo(seconds []uint32, from int64) { e.seconds.addTo(seconds, from) }

// Errors is the number of requests that were answered by an error of the server, or not
// at all.
func (e *Endpoint) Errors() (n uint64) {
	for class, of := range e.Status {
		if class == 0 || class >= 5 {
			n += of
		}
	}
	return n
}

func (e *Endpoint) add(r *Request, left *room) (inPages bool) {
	e.Requests++
	e.Status[r.Status/100%Classes]++
	if r.Latency >= 0 && r.Status > 0 && r.Status < 400 {
		e.Latency.Record(float64(r.Latency)/1000, 1)
	}
	key := r.TargetKey
	if e.variable {
		key = r.PathKey
	}
	e.Keys.Add(key, 1)
	return e.seconds.add(r.At, left)
}

// merge adds another endpoint, which from now on stands for this one.
func (e *Endpoint) merge(from *Endpoint, left *room) {
	e.Requests += from.Requests
	for class, n := range from.Status {
		e.Status[class] += n
	}
	e.Latency.Merge(&from.Latency)
	e.Keys.Merge(&from.Keys)
	e.seconds.merge(&from.seconds, left)
	*from = Endpoint{into: e}
}

// final is the endpoint that this one was merged into, or this one.
func (e *Endpoint) final() *Endpoint {
	for e.into != nil {
		e = e.into
	}
	return e
}
