package experiment

import (
	"time"

	"assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/series/experiment/binlog"
)

// SchemaName is the "schema" field of every experiment.json.
const SchemaName = "assay/experiment/v1"

// The states of an experiment.
const (
	Done        = "done"
	Interrupted = "interrupted"
	Failed      = "failed"
)

// Parameters are those of an experiment, from its file and the command line.
type Parameters struct {
	ID          string  `json:"experiment" jsonschema:"minLength=1"`
	Name        string  `json:"name"`
	File        string  `json:"file"` // path, as given
	SHA256      string  `json:"file_sha256" jsonschema:"pattern=^[0-9a-f]{64}$"`
	Description string  `json:"description"`
	Question    string  `json:"question"`
	Source      string  `json:"source"`
	Profile     string  `json:"profile"`
	Unit        string  `json:"unit" jsonschema:"enum=tps,enum=rps"`
	Rate        float64 `json:"rate" jsonschema:"exclusiveMinimum=0"` // rate of every run, per second
	Target      string  `json:"target"`
	Workers     int     `json:"workers" jsonschema:"minimum=1"`
	Pairs       int     `json:"pairs" jsonschema:"minimum=1"`              // planned number of rounds
	Tolerance   float64 `json:"tolerance" jsonschema:"exclusiveMinimum=0"` // a share: ratios from 1/(1+tolerance) to 1+tolerance count as no change
	// seed of the first round; each later round adds 1
	Seed uint64 `json:"seed"`
	// order of the variants in each planned round, drawn from the seed: AB BA BA
	PlannedOrder string    `json:"planned_order"`
	Primary      []string  `json:"primary" jsonschema:"minItems=1"`
	Variants     []Variant `json:"variants" jsonschema:"minItems=2"` // the first is the control
	Started      time.Time `json:"started"`
}

// Variant is a variant, with its changes in words.
type Variant struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Changes     []string `json:"changes"`
}

// RunResult is the result of one run.
type RunResult struct {
	Variant    string       `json:"variant"`
	Round      int          `json:"round" jsonschema:"minimum=1"` // from 1
	Run        string       `json:"run"`
	Folder     string       `json:"folder"` // relative to experiment.json
	Seed       uint64       `json:"seed"`
	Verdict    string       `json:"verdict" jsonschema:"enum=PASS,enum=FAIL,enum=INVALID,enum=INCONCLUSIVE"`
	Claim      string       `json:"claim"`
	Seconds    float64      `json:"seconds" jsonschema:"minimum=0"` // duration, including applying and reverting the variant
	Invalid    string       `json:"invalid"`                        // why the run is INVALID, and its round was repeated; empty if it is not
	Bottleneck string       `json:"bottleneck"`                     // the component that its diagnosis names; empty: no data
	Readers    *binlog.Read `json:"binlog_readers,omitempty"`

	compared compare.Run
}

// Document is the content of experiment.json; experiment.schema.json describes it.
type Document struct {
	Schema string `json:"schema" jsonschema:"enum=assay/experiment/v1"`
	Parameters
	State    string      `json:"state" jsonschema:"enum=done,enum=interrupted,enum=failed"`
	Sentence string      `json:"sentence" jsonschema:"minLength=1"`
	Order    string      `json:"order"` // order of the runs that were made, by round: AB BA
	Runs     []RunResult `json:"runs"`
	// effect of each variant but the control; empty if the experiment was interrupted or failed
	Effects     []Effect   `json:"effects"`
	Capacity    []Capacity `json:"capacity"` // capacity of each variant; empty if not searched for
	Limitations []string   `json:"limitations" jsonschema:"minLength=1"`
}

// Effect is the difference between a variant and the control.
type Effect struct {
	Variant     string          `json:"variant"`
	Outcome     Outcome         `json:"outcome" jsonschema:"enum=confirmed,enum=not confirmed,enum=changed,enum=equivalent,enum=undetermined"`
	Sentence    string          `json:"sentence" jsonschema:"minLength=1"`
	Primary     []PrimaryMetric `json:"primary"`
	Bottlenecks Bottlenecks     `json:"bottlenecks"`    // bottlenecks of the runs that were compared
	Events      []Event         `json:"events"`         // wait events of database sessions, the longest first
	Outlier     *Outlier        `json:"outlier"`        // a run that stands out in a primary metric; null: none does
	Capacity    *Ratio          `json:"capacity_ratio"` // ratio of the highest rates within the SLOs
	// comparison of all metrics, as by assay compare --json; null: no runs could be compared
	Comparison *compare.Comparison `json:"comparison"`
}

// Outlier is a run that stands out of its side, and the conclusion without its pair.
type Outlier struct {
	Folder  string          `json:"folder"`
	Text    string          `json:"text"` // the metric in which it stands out, and by how much
	Outcome Outcome         `json:"outcome" jsonschema:"enum=confirmed,enum=not confirmed,enum=changed,enum=equivalent,enum=undetermined"`
	Primary []PrimaryMetric `json:"primary"`
}

// Capacity is the result of a variant's search for the highest rate within the SLOs.
type Capacity struct {
	Variant  string   `json:"variant"`
	Folder   string   `json:"folder"` // folder of search.json, relative to experiment.json
	State    string   `json:"state"`
	Sentence string   `json:"sentence"`
	Lower    *float64 `json:"lower"` // null: none
	Upper    *float64 `json:"upper"`
	Trials   int      `json:"trials" jsonschema:"minimum=0"`
}

// Ratio is the ratio of a variant's capacity to the control's, with its bounds.
type Ratio struct {
	Ratio *float64 `json:"ratio"` // ratio of the lower bounds; null unless both upper bounds exist
	Least *float64 `json:"least"` // ratio of the variant's lower bound to the control's upper bound
	Most  *float64 `json:"most"`  // ratio of the variant's upper bound to the control's lower bound
}
