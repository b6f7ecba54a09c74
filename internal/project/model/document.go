package model

import "assay.dev/assay/internal/project/model/traffic"

// Schema names the format of a Document.
const Schema = "assay/model/v1"

// Document is what was found, and what is proposed. Rates are requests per second, times
// RFC 3339, shares within [0, 1], latencies ms. A nil pointer means that there are no data.
type Document struct {
	Schema  string  `json:"schema"`
	Profile string  `json:"profile"` // its name
	Scale   float64 `json:"scale"`   // scale of the profile's rates
	Inputs  []Input `json:"inputs"`
	Window  Window  `json:"window"`
	// Requests are those of the flows, to which all rates refer.
	Requests int64   `json:"requests"`
	LeftOut  LeftOut `json:"left_out"`
	Rates    Rates   `json:"rates"`
	Stages   []Stage `json:"stages"`
	Flows    []Flow  `json:"flows"` // the most requested first, what is left of them last
	// MayBeNames are prefixes of paths below which segments that are shown may be names of
	// people; {name} stands for such a segment.
	MayBeNames []string `json:"may_be_names"`
	Notes      []string `json:"notes"`
}

// Input is what was read of one log.
type Input struct {
	Name      string           `json:"name"`
	Format    string           `json:"format"`
	Durations string           `json:"durations,omitempty"` // where the requests' times come from
	Lines     int64            `json:"lines"`
	Requests  int64            `json:"requests"`
	First     string           `json:"first,omitempty"`
	Last      string           `json:"last,omitempty"`
	Skipped   map[string]int64 `json:"skipped,omitempty"` // lines by reason
}

// Window is the time that is looked at, from the first to the last request in it.
type Window struct {
	Start   string `json:"start"`
	End     string `json:"end"`
	Seconds int64  `json:"seconds"` // without gaps
	Gaps    []Span `json:"gaps"`
}

// Span is a time.
type Span struct {
	Start   string `json:"start"`
	Seconds int64  `json:"seconds"`
}

// LeftOut are requests that are in no flow.
type LeftOut struct {
	Outside      int64 `json:"outside_window"`
	UnknownPaths int64 `json:"unknown_paths"` // answered as not found or not valid only
	OtherMethods int64 `json:"other_methods"`
	TooManyPaths int64 `json:"too_many_paths"` // beyond the number of endpoints that are counted
	Apart        int64 `json:"apart"`          // at times that are too far apart to be counted
}

// Rates are the rates of a flow or of all.
type Rates struct {
	Mean       float64 `json:"mean"`
	PeakMinute Peak    `json:"peak_minute"` // the 60 s with the most requests, wherever they begin
	PeakSecond Peak    `json:"peak_second"`
	PeakToMean float64 `json:"peak_to_mean"` // ratio of the peak minute to the mean
	// Dispersion is variance / mean of the requests per second within minutes; that of Poisson
	// arrivals is 1.
	Dispersion *float64 `json:"dispersion"`
}

// Peak is a highest rate.
type Peak struct {
	Rate  float64 `json:"rate"`
	Start string  `json:"start"`
}

// Stage is a time in which the rate hardly changes, and the stage of the profile for it.
type Stage struct {
	Start    string  `json:"start,omitempty"` // empty: the log has none such; the stage is for comparison
	Seconds  int64   `json:"seconds"`         // in the log
	Measured float64 `json:"measured"`        // rate of all flows
	Peak     bool    `json:"peak"`            // it has the peak minute
	Rate     float64 `json:"rate"`            // in the profile, of all flows
	Ramp     int64   `json:"ramp"`            // s, in the profile
	For      int64   `json:"for"`             // s, in the profile
	Judge    bool    `json:"judge"`           // for one flow at least
}

// Flow is requests of one method with the same first segments.
type Flow struct {
	Name     string    `json:"name"`
	Script   string    `json:"script"`
	Method   string    `json:"method,omitempty"` // empty: several, of what is left
	Prefix   string    `json:"prefix,omitempty"` // prefix of the paths; empty: the flow is what is left
	Writes   bool      `json:"writes"`           // its script sends nothing before it is edited
	Requests int64     `json:"requests"`
	Share    float64   `json:"share"`
	Rates    Rates     `json:"rates"`
	Errors   float64   `json:"errors"` // share that was answered by 5xx, or not at all
	Latency  *Latency  `json:"latency"`
	Stages   []float64 `json:"stages"` // rates in the profile
	// Judged is by stage, as some may have too few of the flow's transactions to decide its
	// SLOs: conditions by metric.
	Judged    []bool              `json:"judged"`
	SLO       map[string][]string `json:"slo"`
	Endpoints []Endpoint          `json:"endpoints"`
}

// Latency is the times of requests that were answered without an error.
type Latency struct {
	Requests int64   `json:"requests"`
	P50      float64 `json:"p50"`
	P95      float64 `json:"p95"`
	P99      float64 `json:"p99"`
	Max      float64 `json:"max"`
}

// Endpoint is a method and a template of paths.
type Endpoint struct {
	Name     string            `json:"name"` // tag of its requests
	Method   string            `json:"method"`
	Template string            `json:"template"`
	Requests int64             `json:"requests"`
	Share    float64           `json:"share"`  // share of the flow's requests
	Status   map[string]int64  `json:"status"` // requests by class: 2xx
	Latency  *Latency          `json:"latency"`
	Keys     *Keys             `json:"keys"`  // nil: all requests have the same
	Query    []Name            `json:"query"` // the usual names in the query
	Segments []traffic.Segment `json:"segments"`
}

// Keys is how unevenly keys are requested: paths with different identifiers or, where the
// path has none, different queries.
type Keys struct {
	Distinct int64   `json:"distinct"`
	Total    int64   `json:"total"`    // with those that were not requested, as the fit has it
	Exponent float64 `json:"exponent"` // exponent of the Zipf distribution that fits
	// TopShare is the share of the requests for the most requested 1 % of keys, at least one key.
	TopShare float64 `json:"top_share"`
	Counted  bool    `json:"counted"` // top_share is counted, and not that of the fit
}

// Name is a name in queries.
type Name struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"` // share of the endpoint's requests
}
