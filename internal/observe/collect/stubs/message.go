package stubs

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
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

// MaxLedger bounds the calls that a stub's ledger keeps, at about 64 bytes each.
const MaxLedger = 2_000_000

// Bounds of what a stub may say: a run has a series of each of its endpoints.
const (
	maxEndpoints = 1000
	maxText      = 1000 // bytes of a text
	maxCalls     = 1e12 // that have ended, with one outcome
)

// outcomes are those of calls.
var outcomes = []string{
	metric.StubAnswered, metric.StubError, metric.StubLimited, metric.StubHung, metric.StubReset, metric.StubAbandoned, metric.StubUnknown,
}

var errNoStub = errors.New("it is no state of a stub")

// decode reads a state, which must be one that a stub can have.
func decode(from io.Reader) (s State, err error) {
	defer foreign.Guard(&err)
	if err := json.NewDecoder(io.LimitReader(from, maxAnswer)).Decode(&s); err != nil {
		return State{}, err
	}
	if !s.possible() {
		return State{}, errNoStub
	}
	s.mask()
	return s, nil
}

// mask masks the words of a stub, which may have a secret of this process.
func (s *State) mask() {
	s.File.Path = mask.Text(s.File.Path)
	for i := range s.Endpoints {
		s.Endpoints[i].Endpoint = mask.Text(s.Endpoints[i].Endpoint)
	}
	for i := range s.Phases {
		p := &s.Phases[i]
		p.Name = mask.Text(p.Name)
		for j := range p.Endpoints {
			p.Endpoints[j] = mask.Text(p.Endpoints[j])
		}
	}
}

func (s State) possible() bool {
	count := func(n int64) bool { return n >= 0 && n <= maxCalls }
	text := func(all ...string) bool {
		return !slices.ContainsFunc(all, func(t string) bool { return len(t) > maxText || !utf8.ValidString(t) })
	}
	if shown, err := json.MarshalIndent(s, "", "  "); err != nil || len(shown) > maxAnswer { // as the record has it, with what escapes take
		return false
	}
	if s.Instance == "" || !text(s.Instance, s.File.Path, s.File.SHA256, s.Run) || !count(s.Forgotten) || max(len(s.Endpoints), len(s.Phases)) > maxEndpoints {
		return false
	}
	for _, e := range s.Endpoints {
		if !text(e.Endpoint) || !count(e.Open) || !count(e.Queue) || !count(e.Working) || min(e.CallMs, e.WorkMs, e.LeftMs) < 0 || len(e.Calls) > len(outcomes) {
			return false
		}
		for outcome, n := range e.Calls {
			if !slices.Contains(outcomes, outcome) || !count(n) {
				return false
			}
		}
	}
	return true
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
