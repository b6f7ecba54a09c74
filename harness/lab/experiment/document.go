package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"assay/harness/judge/compare"
	"assay/harness/lab/experiment/binlog"
)

// SchemaName stands in every experiment.json.
const SchemaName = "assay/experiment/v1"

// The states of an experiment.
const (
	Done        = "done"
	Interrupted = "interrupted"
	Failed      = "failed"
)

// Asked is what was asked for.
type Asked struct {
	ID          string    `json:"experiment" jsonschema:"minLength=1"`
	Name        string    `json:"name"`
	File        string    `json:"file"` // as it was named
	SHA256      string    `json:"file_sha256" jsonschema:"pattern=^[0-9a-f]{64}$"`
	Description string    `json:"description"`
	Question    string    `json:"question"`
	Source      string    `json:"source"`
	Profile     string    `json:"profile"`
	Unit        string    `json:"unit" jsonschema:"enum=tps,enum=rps"`
	Rate        float64   `json:"rate" jsonschema:"exclusiveMinimum=0"` // of every run
	Target      string    `json:"target"`
	Workers     int       `json:"workers" jsonschema:"minimum=1"`
	Pairs       int       `json:"pairs" jsonschema:"minimum=1"`              // rounds, fixed before
	Tolerance   float64   `json:"tolerance" jsonschema:"exclusiveMinimum=0"` // a share; ratios from 1/(1+tolerance) to 1+tolerance are no change
	Seed        uint64    `json:"seed"`                                      // of the first round; each has the next
	Primary     []string  `json:"primary" jsonschema:"minItems=1"`
	Variants    []Variant `json:"variants" jsonschema:"minItems=2"` // the first is the control
	Started     time.Time `json:"started"`
}

// Variant is one of them, and what it changes in words.
type Variant struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Changes     []string `json:"changes"`
}

// Made is one run.
type Made struct {
	Variant string       `json:"variant"`
	Round   int          `json:"round" jsonschema:"minimum=1"` // from 1
	Run     string       `json:"run"`
	Folder  string       `json:"folder"` // relative to experiment.json
	Seed    uint64       `json:"seed"`
	Verdict string       `json:"verdict" jsonschema:"enum=PASS,enum=FAIL,enum=INVALID,enum=INCONCLUSIVE"`
	Claim   string       `json:"claim"`
	Seconds float64      `json:"seconds" jsonschema:"minimum=0"` // that it took, its variant's coming and going included
	Invalid string       `json:"invalid"`                        // why it may not be judged, and its round was made again; else empty
	Named   string       `json:"bottleneck"`                     // the component that its diagnosis names; empty: no data
	Readers *binlog.Read `json:"binlog_readers,omitempty"`

	compared compare.Run
}

// Document is the content of experiment.json; experiment.schema.json describes it.
type Document struct {
	Schema string `json:"schema" jsonschema:"enum=assay/experiment/v1"`
	Asked
	State       string     `json:"state" jsonschema:"enum=done,enum=interrupted,enum=failed"`
	Sentence    string     `json:"sentence" jsonschema:"minLength=1"`
	Order       string     `json:"order"` // of the runs that were made, by rounds: AB BA
	Runs        []Made     `json:"runs"`
	Effects     []Effect   `json:"effects"`  // of each variant but the control; none where it was cut short
	Capacity    []Capacity `json:"capacity"` // of each variant; none where it was not asked for
	Limitations []string   `json:"limitations" jsonschema:"minLength=1"`
}

// Effect is what a variant differs in from the control.
type Effect struct {
	Variant    string              `json:"variant"`
	Outcome    Outcome             `json:"outcome" jsonschema:"enum=confirmed,enum=not confirmed,enum=changed,enum=equivalent,enum=undetermined"`
	Sentence   string              `json:"sentence" jsonschema:"minLength=1"`
	Primary    []Decided           `json:"primary"`
	Named      Named               `json:"bottlenecks"`    // of the runs that were compared
	Events     []Event             `json:"events"`         // that sessions of the database waited for, the largest first, in ms a transaction
	Capacity   *Ratio              `json:"capacity_ratio"` // of the highest rates within the SLOs
	Comparison *compare.Comparison `json:"comparison"`     // of all metrics, as assay compare --json prints it; null: no runs could be compared
}

// Capacity is a variant's highest rate within the SLOs, as its search found it.
type Capacity struct {
	Variant  string   `json:"variant"`
	Folder   string   `json:"folder"` // of search.json, relative to experiment.json
	State    string   `json:"state"`
	Sentence string   `json:"sentence"`
	Lower    *float64 `json:"lower"` // nil: none
	Upper    *float64 `json:"upper"`
	Trials   int      `json:"trials" jsonschema:"minimum=0"`
}

// Ratio is that of a variant's capacity to the control's, and what it is at least
// and at most, by the bounds of both.
type Ratio struct {
	Ratio *float64 `json:"ratio"` // of the lower bounds; nil where one has no upper bound
	Least *float64 `json:"least"`
	Most  *float64 `json:"most"`
}

// Marshal writes experiment.json.
func (d Document) Marshal() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // a claim reads p(95)<250
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		return nil, fmt.Errorf("marshal experiment: %w", err)
	}
	return b.Bytes(), nil
}
