package stubs

import (
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// Paths of a stub's control endpoints. Every request shows the stub's token as a bearer
// token.
const (
	// PathRun: PUT a Begin, to begin a run or to renew it; GET the State; DELETE to end the
	// run, whose id is the parameter run. Each is answered with the State.
	PathRun = spec.StubReserved + "run"
	// PathLedger: GET the calls of the last run, as lines of JSON (Call), in the order in
	// which they ended.
	PathLedger = spec.StubReserved + "ledger"
)

// Begin tells a stub which run it serves. It is repeated every second: a stub that is no
// longer told ends the run by itself.
type Begin struct {
	Run string `json:"run"`
	// SinceMs is the time since the start of the load, negative before it; nil: it is not
	// known yet. It is a time rather than an instant, so that the stub's clock does not matter.
	SinceMs *float64 `json:"since_ms,omitempty"`
}

// State is what a stub says of itself. Counts are those since the run began.
type State struct {
	Instance  string           `json:"instance"` // differs from start to start
	File      record.Digest    `json:"file"`
	Phases    []spec.StubPhase `json:"phases"`
	Run       string           `json:"run"` // that it serves; empty: none
	Endpoints []Counts         `json:"endpoints"`
	// Forgotten is the number of calls that are not in the ledger, because it was full.
	Forgotten int64 `json:"forgotten"`
}

// Counts are those of one endpoint, in ms where they are times.
type Counts struct {
	Endpoint   string           `json:"endpoint"`
	Background bool             `json:"background"`
	Calls      map[string]int64 `json:"calls"` // that have ended, by outcome (metric.StubAnswered, ...)
	CallMs     float64          `json:"call_ms"`
	WorkMs     float64          `json:"work_ms"` // of work whose caller waited to its end
	LeftMs     float64          `json:"left_ms"` // of work whose caller had left
	Open       int64            `json:"open"`    // calls whose callers wait now
	Queue      int64            `json:"queue"`
	Working    int64            `json:"working"`
}

// Call is a line of the ledger.
type Call struct {
	Endpoint string  `json:"endpoint"`
	ID       string  `json:"id,omitempty"` // hash of the header Idempotency-Key, as ledger.Hash; empty: the call had none
	At       int64   `json:"at"`           // of its arrival, in unix ms by the stub's clock
	Ms       float64 `json:"ms"`           // until its end
	Outcome  string  `json:"outcome"`
	Status   int     `json:"status,omitempty"` // of the response; 0: none
}

// All is the number of calls that have ended.
func (s State) All() (n int64) {
	for _, e := range s.Endpoints {
		for _, calls := range e.Calls {
			n += calls
		}
	}
	return n
}
