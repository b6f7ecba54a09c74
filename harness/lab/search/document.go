package search

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Asked is what is searched for, and how.
type Asked struct {
	ID      string  `json:"search"`
	Profile string  `json:"profile"`
	Unit    string  `json:"unit"`   // "tps" or "rps", of all rates
	Target  string  `json:"target"` // base URL
	Seconds float64 `json:"trial_seconds"`
	Workers int     `json:"workers"`
	Seed    uint64  `json:"seed"` // the first trial's; each has the next
	Goal    Goal    `json:"goal"`
	Range   Range   `json:"range"`
}

// Probe is one trial and the run folder that records it.
type Probe struct {
	Rate     float64   `json:"rate"`
	Run      string    `json:"run"`    // run id
	Folder   string    `json:"folder"` // relative to search.json; empty: the run never started
	Seed     uint64    `json:"seed"`
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"` // that it took, all in all
	Result   Result    `json:"result"`
	Verdict  string    `json:"verdict,omitempty"` // empty: the run never started
	Claim    string    `json:"claim"`             // the verdict's, or why the run never started
	Decisive *Decisive `json:"decisive"`          // nil: every SLO and rule held
}

// Decisive is the SLO or the rule that made a verdict what it is.
type Decisive struct {
	Kind     string   `json:"kind"` // "slo" or "rule"
	Name     string   `json:"name"` // the SLO's metric and expression, or the rule's id
	Observed *float64 `json:"observed"`
	Limit    *float64 `json:"limit"`
	Unit     string   `json:"unit,omitempty"`
	Detail   string   `json:"detail,omitempty"`
}

// Document is the content of search.json; search.schema.json describes it.
type Document struct {
	Schema string `json:"schema"`
	Asked
	State       string      `json:"state"` // an End's word, or "interrupted", or "failed"
	Sentence    string      `json:"sentence"`
	Lower       *float64    `json:"lower"`    // nil: none
	Upper       *float64    `json:"upper"`    // nil: none
	Decisive    *Decisive   `json:"decisive"` // at the upper bound
	Width       *float64    `json:"width"`    // of the bracket
	GeneratorAt *float64    `json:"generator_limit"`
	Loads       []LoadState `json:"loads"`  // ascending
	Probes      []Probe     `json:"probes"` // in their order
	Certifies   bool        `json:"certifies"`
	Confirm     string      `json:"confirm,omitempty"` // the command that would certify the lower bound

	end  End
	left *int // trials, estimated; nil: not known
}

// LoadState is a load with what its trials came to.
type LoadState struct {
	Rate      float64 `json:"rate"`
	Class     Class   `json:"class"`
	Clear     int     `json:"clear"`
	Broken    int     `json:"broken"`
	Close     int     `json:"close"`
	Scarce    int     `json:"scarce"`
	NotJudged int     `json:"not_judged"`
}

// Interrupted and Failed are the states of a search that was cut short.
const (
	Interrupted = "interrupted"
	Failed      = "failed"
)

// End is how the search came out; Running where it was cut short.
func (d Document) End() End { return d.end }

// Bracketed reports whether both bounds are known, or that the SLOs hold at the
// most that was to be tried.
func (d Document) Bracketed() bool { return d.Lower != nil && d.Upper != nil || d.end == AtMax }

// Left is how many trials are still to come, about.
func (d Document) Left() (trials int, known bool) {
	if d.left == nil {
		return 0, false
	}
	return *d.left, true
}

// take brings the document up to the search's state.
func (d *Document) take(s *Search, confirm func(rate float64) string) {
	bounds := s.Bounds()
	d.end = s.End()
	d.State = d.end.String()
	d.Lower, d.Upper, d.Decisive, d.Width, d.GeneratorAt = nil, nil, nil, nil, nil
	d.Confirm, d.left = "", nil
	d.Loads = []LoadState{}
	for _, l := range s.loads {
		d.Loads = append(d.Loads, LoadState{
			Rate: l.Rate, Class: l.Class(s.goal), Clear: l.Clear, Broken: l.Broken, Close: l.Close, Scarce: l.Scarce,
			NotJudged: l.Starved + l.Void + l.Refused,
		})
	}
	if bounds.Upper != nil {
		d.Upper = &bounds.Upper.Rate
		if p := d.decisiveAt(*d.Upper); p != nil {
			d.Decisive = p.Decisive
		}
	}
	if bounds.Lower != nil {
		d.Lower, d.Confirm = &bounds.Lower.Rate, confirm(bounds.Lower.Rate)
	}
	if d.Lower != nil && d.Upper != nil {
		width := Width(*d.Lower, *d.Upper)
		d.Width = &width
	}
	if b := s.bracket(); !math.IsInf(b.ceiling, 1) {
		d.GeneratorAt = &b.ceiling
	}
	if n, ok := s.Left(); ok {
		d.left = &n
	}
	d.Sentence = d.sentence()
}

// decisiveAt is the trial that made a load an upper bound: one that was broken, or
// else the last that was close.
func (d *Document) decisiveAt(rate float64) (at *Probe) {
	for i, p := range d.Probes {
		if p.Rate != rate { //nolint:staticcheck // the load of the trial, not one near it
			continue
		}
		if p.Result == Broken {
			return &d.Probes[i]
		}
		if p.Result == Close {
			at = &d.Probes[i]
		}
	}
	return at
}

// Marshal writes search.json.
func (d Document) Marshal() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // an SLO reads p(95)<250
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		return nil, fmt.Errorf("marshal search: %w", err)
	}
	return b.Bytes(), nil
}

// ExitCode is that of a search that came to its end: 0 where both bounds were found.
func (d Document) ExitCode() int {
	if d.Bracketed() {
		return 0
	}
	return map[End]int{Missed: 1, Generator: 3, Invalid: 3, Undecided: 4}[d.End()]
}
