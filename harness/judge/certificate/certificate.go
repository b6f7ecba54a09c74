package certificate

import (
	"time"

	"assay/harness/observe/record"
)

// SchemaName stands in every certificate.
const SchemaName = "assay/certificate/v1"

// Validity is how long a certificate may be relied upon (RULEBOOK section 4).
const Validity = 90 * 24 * time.Hour

// Certificate is certificate.json. Fields are added, never renamed; null is
// "no data", which is never 0.
type Certificate struct {
	Schema      string             `json:"schema"`
	Run         string             `json:"run"`
	Profile     string             `json:"profile"`
	Verdict     string             `json:"verdict"` // PASS, FAIL, INVALID or INCONCLUSIVE
	Claim       string             `json:"claim"`
	Rate        Rate               `json:"rate"`
	Window      Window             `json:"window"`
	SLOs        []SLO              `json:"slos"`
	Rules       []Rule             `json:"rules"`
	Latency     map[string]Latency `json:"latency"` // "transaction", and endpoints by name
	Outcomes    Outcomes           `json:"outcomes"`
	Waits       []Wait             `json:"waits"`      // null: the database was not sampled
	Split       []Split            `json:"split"`      // null: no transaction ran
	Bottleneck  *Bottleneck        `json:"bottleneck"` // null: no transaction ran
	Statements  []Statement        `json:"statements"` // null: the database told of none
	Resources   []Resource         `json:"resources"`
	Ledger      *Ledger            `json:"ledger"`
	Generator   Generator          `json:"generator"`
	Scope       string             `json:"scope"`
	Signed      bool               `json:"signed"`
	Issuer      *string            `json:"issuer"`   // ID of the key that signed it; null: nobody did
	Rejudged    *Rejudged          `json:"rejudged"` // null: judged by the run's own thresholds
	Environment Environment        `json:"environment"`
	Limitations []string           `json:"limitations"`
	Evidence    Evidence           `json:"evidence"`
	Attempts    *int               `json:"attempts"`
	Issued      time.Time          `json:"issued"`
	Expires     time.Time          `json:"expires"`
}

// Rejudged says by what other thresholds than its own a run was judged.
type Rejudged struct {
	Thresholds record.Digest `json:"thresholds"` // its SLOs and rules; the rest is the run's
}

// Rate is what was asked and done in the judged windows, a second.
type Rate struct {
	Unit      string   `json:"unit"`
	Target    float64  `json:"target"`
	Lowest    float64  `json:"lowest"` // judged rate; the target where the plan holds one
	Achieved  *float64 `json:"achieved"`
	Scheduled *int64   `json:"scheduled"`
	Completed *int64   `json:"completed"`
	Dropped   *int64   `json:"dropped"`
}

// Window is the judged time.
type Window struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Seconds int64     `json:"seconds"`
	Count   int       `json:"count"` // of hold windows from start to end
}

// SLO is one condition and how it came out.
type SLO struct {
	Metric     string   `json:"metric"`
	Expression string   `json:"expression"`
	Unit       string   `json:"unit"` // of limit, observed, lower and upper
	Limit      float64  `json:"limit"`
	Observed   *float64 `json:"observed"`
	Lower      *float64 `json:"lower"`
	Upper      *float64 `json:"upper"`
	Basis      string   `json:"basis"` // of the verdict: "counted" in this run, or "inferred" at 95 % confidence
	Samples    *int64   `json:"samples"`
	Violations *int64   `json:"violations"`
	AtLeast    *int64   `json:"violations_at_least,omitempty"` // bounds where violations have no exact count
	AtMost     *int64   `json:"violations_at_most,omitempty"`
	Allowed    *int64   `json:"violations_allowed"`
	Cleared    *int64   `json:"violations_cleared"` // certain without the generator's share; null: no samples decide

	// Of conditions that the inferred test may decide; null for the others.
	DesignEffect *float64 `json:"design_effect"`
	Effective    *float64 `json:"effective_samples"`
	Needed       *float64 `json:"effective_samples_needed"`
	Correlation  *float64 `json:"correlation_seconds"`

	FailedWindow *int   `json:"failed_window"` // from 1, that failed by itself where all together do not; null: none
	CloseWindow  *int   `json:"close_window"`  // from 1, that holds more violations than it allows without surely failing; null: none
	Verdict      string `json:"verdict"`
}

// Rule is one validity rule. Its verdict is PASS, LIMITATION (the claim holds
// with what limitations say), INVALID, FAIL or INCONCLUSIVE.
type Rule struct {
	ID       string   `json:"id"`
	Observed *float64 `json:"observed"`
	Limit    *float64 `json:"limit"`
	Unit     string   `json:"unit"`
	Verdict  string   `json:"verdict"`
	Detail   string   `json:"detail"`
	Advice   string   `json:"advice"`
}

// Latency describes a distribution.
type Latency struct {
	Unit  string `json:"unit"`
	Count int64  `json:"count"`
	Percentiles
	Max   *float64    `json:"max"`
	Mean  *float64    `json:"mean"`
	Lower Percentiles `json:"lower"` // of the interval of each percentile
	Upper Percentiles `json:"upper"`
}

// Percentiles of a distribution, or one side of their intervals; null is "no
// data", or a side that the samples do not bound.
type Percentiles struct {
	P50  *float64 `json:"p50"`
	P90  *float64 `json:"p90"`
	P95  *float64 `json:"p95"`
	P99  *float64 `json:"p99"`
	P999 *float64 `json:"p999"`
}

// Outcomes are those of the transactions scheduled in the judged windows.
type Outcomes struct {
	Completed *int64 `json:"completed"`
	Failed    *int64 `json:"failed"`
	TimedOut  *int64 `json:"timed_out"`
	Dropped   *int64 `json:"dropped"`
}

// Wait is what sessions of the database were doing.
type Wait struct {
	Event                    string   `json:"event"`
	Class                    string   `json:"class"`
	AAS                      float64  `json:"aas"`
	Share                    float64  `json:"share"`
	Samples                  int64    `json:"samples"`
	MsPerTransaction         *float64 `json:"ms_per_transaction"`
	BaselineMsPerTransaction *float64 `json:"baseline_ms_per_transaction"`
	Inferred                 bool     `json:"inferred"`
}

// Split is a component's share in a transaction's mean time.
type Split struct {
	Component                string   `json:"component"`
	MsPerTransaction         *float64 `json:"ms_per_transaction"`
	BaselineMsPerTransaction *float64 `json:"baseline_ms_per_transaction"`
	// Of the difference, a 95 % interval; null: there is no baseline.
	Lower *float64 `json:"lower"`
	Upper *float64 `json:"upper"`
}

// Bottleneck is the component that made the run miss its SLOs; or "none" where
// it missed none, or "undetermined".
type Bottleneck struct {
	Component  string    `json:"component"`
	Class      string    `json:"class"` // of waits; empty: the component is none of the database's
	Event      string    `json:"event"`
	Inferred   bool      `json:"inferred"`
	Confidence *float64  `json:"confidence"` // share of resamples in which it comes first
	GrowthMs   *float64  `json:"growth_ms"`  // of a transaction, that are charged to it
	Sentence   string    `json:"sentence"`
	Evidence   []string  `json:"evidence"`
	Confirm    []string  `json:"confirm"` // ids of experiments
	Remedy     string    `json:"remedy"`
	RunnerUp   *RunnerUp `json:"runner_up"` // null: no other grew
}

// RunnerUp is the component that comes second.
type RunnerUp struct {
	Component string   `json:"component"`
	GrowthMs  *float64 `json:"growth_ms"`
}

// Statement is one of those that took most of the database's time.
type Statement struct {
	Digest                   string   `json:"digest"`
	Text                     string   `json:"text"`
	Share                    float64  `json:"share"` // of all statement time
	MsPerTransaction         *float64 `json:"ms_per_transaction"`
	BaselineMsPerTransaction *float64 `json:"baseline_ms_per_transaction"`
	CallsPerTransaction      *float64 `json:"calls_per_transaction"`
	MsPerCall                *float64 `json:"ms_per_call"`
	RowsPerCall              *float64 `json:"rows_examined_per_call"`
	Class                    string   `json:"class"` // of what it was seen in most; empty: it was not seen
	Event                    string   `json:"event"`
	WaitShare                float64  `json:"wait_share"` // of its samples
}

// Resource is what a transaction cost.
type Resource struct {
	Name                   string   `json:"name"`
	Unit                   string   `json:"unit"`
	PerTransaction         *float64 `json:"per_transaction"`
	BaselinePerTransaction *float64 `json:"baseline_per_transaction"`
}

// Ledger is acknowledged against persisted, over the whole run.
type Ledger struct {
	Acknowledged   int64      `json:"acknowledged"`
	Persisted      int64      `json:"persisted"`
	Missing        int64      `json:"missing"`
	Duplicated     int64      `json:"duplicated"`
	Unacknowledged int64      `json:"unacknowledged"`
	PersistLagMs   PersistLag `json:"persist_lag_ms"`
}

// PersistLag is the time from acknowledgement to persistence.
type PersistLag struct {
	P99 *float64 `json:"p99"`
	Max *float64 `json:"max"`
}

// Generator tells whether the load was made as planned.
type Generator struct {
	Workers        int      `json:"workers"`
	CPUShare       *float64 `json:"cpu_share"` // of the busiest worker
	WakeupLagP99Ms *float64 `json:"wakeup_lag_p99_ms"`
	FramesExpected *int64   `json:"frames_expected"`
	FramesReceived int64    `json:"frames_received"`
}

// Environment is where and with what the run took place.
type Environment struct {
	Host       record.Host      `json:"host"`
	CoLocation []string         `json:"co_location"`
	Target     string           `json:"target"`
	Database   *record.Database `json:"database"`
	Tool       record.Tool      `json:"tool"`
	Thresholds record.Digest    `json:"thresholds"`
	Scripts    []record.Digest  `json:"scripts"`
	Seed       uint64           `json:"seed,string"` // text: it may be over 2^53

	// Fingerprint is that of Database and Service: where it is another today,
	// the certificate has ended (RULEBOOK section 4). Null: neither is known.
	Fingerprint *string         `json:"fingerprint"`
	Service     *record.Service `json:"service"` // builds that the service tells of; null: none
}

// Evidence ties the certificate to the record.
type Evidence struct {
	ManifestSHA256 string `json:"manifest_sha256"`
}
