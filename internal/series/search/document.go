package search

import (
	"math"
	"time"
)

// SchemaName is the "schema" field of every search.json.
const SchemaName = "assay/search/v1"

// Parameters are those of a search, as it was started.
type Parameters struct {
	ID      string `json:"search" jsonschema:"minLength=1"`
	Profile string `json:"profile" jsonschema:"minLength=1"`
	// unit of all rates: "tps" or "rps"
	Unit    string  `json:"unit" jsonschema:"enum=tps,enum=rps"`
	Target  string  `json:"target"`                                        // base URL of the system under test
	Seconds float64 `json:"trial_seconds" jsonschema:"exclusiveMinimum=0"` // judged seconds of the first trial of a load
	Workers int     `json:"workers" jsonschema:"minimum=1"`
	Seed    uint64  `json:"seed"` // seed of the first trial; each later trial adds 1
	Goal    Goal    `json:"goal"`
	Range   Range   `json:"range"`
}

// Probe is one trial and the run folder that records it.
type Probe struct {
	Rate     float64   `json:"rate" jsonschema:"exclusiveMinimum=0"`
	Run      string    `json:"run" jsonschema:"minLength=1"` // run id
	Folder   string    `json:"folder"`                       // relative to search.json; empty: the run never started
	Seed     uint64    `json:"seed"`
	Started  time.Time `json:"started"`
	Judged   float64   `json:"judged_seconds" jsonschema:"exclusiveMinimum=0"`
	Seconds  float64   `json:"seconds" jsonschema:"minimum=0"` // wall-clock time of the trial
	Result   Result    `json:"result" jsonschema:"enum=clear,enum=broken,enum=close,enum=scarce,enum=starved,enum=void,enum=refused,enum=interrupted"`
	Verdict  string    `json:"verdict,omitempty" jsonschema:"enum=PASS,enum=FAIL,enum=INVALID,enum=INCONCLUSIVE"` // empty: the run never started
	Claim    string    `json:"claim" jsonschema:"minLength=1"`                                                    // the verdict's, or why the run never started
	Decisive *Decisive `json:"decisive"`                                                                          // null: every SLO and rule held
}

// Decisive is the SLO or the rule that decided a verdict.
type Decisive struct {
	Kind     string   `json:"kind" jsonschema:"enum=slo,enum=rule,enum=abort"`
	Name     string   `json:"name" jsonschema:"minLength=1"` // the metric and expression of the SLO or of the abort condition, or the id of the rule
	Observed *float64 `json:"observed"`
	Limit    *float64 `json:"limit"`
	Unit     string   `json:"unit,omitempty"`
	Detail   string   `json:"detail,omitempty"`
	// Missing where samples do not decide.
	Violations *int64 `json:"violations,omitempty" jsonschema:"minimum=0"`
	Allowed    *int64 `json:"violations_allowed,omitempty" jsonschema:"minimum=0"`
}

// Document is the content of search.json; search.schema.json describes it.
type Document struct {
	Schema string `json:"schema" jsonschema:"enum=assay/search/v1"`
	Parameters
	State       End         `json:"state" jsonschema:"enum=running,enum=found,enum=at-max,enum=missed,enum=generator,enum=undecided,enum=invalid,enum=interrupted,enum=failed"` // how the search ended
	Sentence    string      `json:"sentence" jsonschema:"minLength=1"`
	Lower       *float64    `json:"lower" jsonschema:"exclusiveMinimum=0"`           // largest load below the upper bound at which the SLOs hold; null: none
	Upper       *float64    `json:"upper" jsonschema:"exclusiveMinimum=0"`           // smallest load at which the SLOs are missed; null: none
	Undecided   *Zone       `json:"undecided"`                                       // smallest and largest load between the bounds at which the trials decide nothing; null: none
	Decisive    *Decisive   `json:"decisive"`                                        // the SLO or rule that was missed at the upper bound
	Width       *float64    `json:"width"`                                           // (upper - lower) / upper
	GeneratorAt *float64    `json:"generator_limit" jsonschema:"exclusiveMinimum=0"` // smallest load that the generator could not offer
	Loads       []LoadState `json:"loads"`                                           // in ascending order
	Probes      []Probe     `json:"probes"`                                          // in the order in which they were made
	Certifies   bool        `json:"certifies" jsonschema:"const=false"`
	Confirm     string      `json:"confirm,omitempty"` // the command that would certify the lower bound

	trialsLeft int // estimated; 0: not known
}

// LoadState is a rate with the results of its trials.
type LoadState struct {
	Rate      float64 `json:"rate" jsonschema:"exclusiveMinimum=0"`
	Class     Class   `json:"class" jsonschema:"enum=open,enum=lower,enum=upper,enum=close,enum=scarce,enum=unmade,enum=unjudged"` // close: no trial was clear or broken; scarce: too few samples to decide; unmade: the generator could not offer the load; unjudged: its trials were INVALID
	Clear     int     `json:"clear" jsonschema:"minimum=0"`                                                                        // trials with at most half of the violations that each SLO allows
	Broken    int     `json:"broken" jsonschema:"minimum=0"`                                                                       // trials with at least twice as many as one of the SLOs allows
	Close     int     `json:"close" jsonschema:"minimum=0"`                                                                        // trials in between
	Scarce    int     `json:"scarce" jsonschema:"minimum=0"`                                                                       // trials with too few samples to decide
	NotJudged int     `json:"not_judged" jsonschema:"minimum=0"`                                                                   // trials that were INVALID or could not start
}

// update sets the document's results from those of the search.
func (d *Document) update(s *Search, confirm func(rate float64) string) {
	b := s.bracket()
	d.State = s.End()
	d.Lower, d.Upper, d.Undecided, d.Decisive, d.Width, d.GeneratorAt = nil, nil, nil, nil, nil, nil
	d.Confirm, d.trialsLeft = "", s.TrialsLeft()
	d.Loads = []LoadState{}
	for _, l := range s.loads {
		d.Loads = append(d.Loads, LoadState{
			Rate: l.Rate, Class: s.class(l), Clear: l.Clear, Broken: l.Broken, Close: l.Close, Scarce: l.Scarce,
			NotJudged: l.Starved + l.Void + l.Refused,
		})
	}
	if !math.IsInf(b.high, 1) {
		d.Upper, d.Decisive = &b.high, d.decisiveAt(b.high)
	}
	if !b.between.empty() {
		d.Undecided = &b.between
	}
	if b.low > 0 {
		d.Lower = &b.low
		if confirm != nil {
			d.Confirm = confirm(*d.Lower)
		}
	}
	if d.Lower != nil && d.Upper != nil {
		width := Width(*d.Lower, *d.Upper)
		d.Width = &width
	}
	if !math.IsInf(b.ceiling, 1) {
		d.GeneratorAt = &b.ceiling
	}
	d.Sentence = d.sentence()
}

// decisiveAt is what decided the first broken trial at a rate.
func (d *Document) decisiveAt(rate float64) *Decisive {
	for _, p := range d.Probes {
		if p.Rate == rate && p.Result == Broken { // the load of the trial, not one near it
			return p.Decisive
		}
	}
	return nil
}

// ExitCode is the exit code of a search that ended by itself.
func (d Document) ExitCode() int {
	if d.Lower != nil && d.Upper != nil && d.State != Undecided {
		return 0
	}
	return map[End]int{Missed: 1, Generator: 3, Invalid: 3, Undecided: 4}[d.State]
}
