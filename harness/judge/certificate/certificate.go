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
	Schema      string             `json:"schema" jsonschema:"enum=assay/certificate/v1"`
	Run         string             `json:"run" jsonschema:"minLength=1"`
	Profile     string             `json:"profile" jsonschema:"minLength=1"`
	Verdict     string             `json:"verdict" jsonschema:"enum=PASS,enum=FAIL,enum=INVALID,enum=INCONCLUSIVE"`
	Claim       string             `json:"claim" jsonschema:"minLength=1"`
	Rate        Rate               `json:"rate"`
	Window      Window             `json:"window"`
	SLOs        []SLO              `json:"slos"`
	Rules       []Rule             `json:"rules"`
	Latency     map[string]Latency `json:"latency" jsonschema:"requires=transaction"` // of transactions from their scheduled arrival ("transaction"), and of requests by name
	Outcomes    Outcomes           `json:"outcomes"`                                  // of the transactions scheduled in the judged windows
	Waits       []Wait             `json:"waits" jsonschema:"nullable"`               // null: the database was not sampled
	Split       []Split            `json:"split" jsonschema:"nullable"`               // a transaction's mean time by component; null: no transaction ran
	Bottleneck  *Bottleneck        `json:"bottleneck"`                                // the component that made the run miss its SLOs; "none" where it missed none, or "undetermined"; null: no transaction ran
	Statements  []Statement        `json:"statements" jsonschema:"nullable"`          // digests that took most of the database's time; null: the database told of none
	Resources   []Resource         `json:"resources"`                                 // what a transaction cost on average; only what was measured
	Ledger      *Ledger            `json:"ledger"`                                    // over the whole run; null: nothing was compared
	Generator   Generator          `json:"generator"`
	Scope       string             `json:"scope" jsonschema:"enum=smoke,enum=certificate"`
	Signed      bool               `json:"signed"`
	Issuer      *string            `json:"issuer"`   // base64 SHA-256 of the public key (PKIX) that signed it; null: nobody did
	Rejudged    *Rejudged          `json:"rejudged"` // by what other thresholds than its own the run was judged; null: by its own
	Environment Environment        `json:"environment"`
	Limitations []string           `json:"limitations" jsonschema:"minLength=1"`
	Evidence    Evidence           `json:"evidence"`
	Attempts    *int               `json:"attempts" jsonschema:"minimum=1"` // runs of this profile with this tool so far, this one included; null: not known
	Issued      time.Time          `json:"issued"`
	Expires     time.Time          `json:"expires"`
}

// Rejudged says by what other thresholds than its own a run was judged.
type Rejudged struct {
	Thresholds record.Digest `json:"thresholds"` // its SLOs and rules; the rest is the run's
}

// Rate is what was asked and done in the judged windows, a second.
type Rate struct {
	Unit      string   `json:"unit" jsonschema:"enum=tps,enum=rps"`
	Target    float64  `json:"target" jsonschema:"exclusiveMinimum=0"`
	Lowest    float64  `json:"lowest" jsonschema:"exclusiveMinimum=0"` // judged rate; the target where the plan holds one
	Achieved  *float64 `json:"achieved" jsonschema:"minimum=0"`
	Scheduled *int64   `json:"scheduled" jsonschema:"minimum=0"`
	Completed *int64   `json:"completed" jsonschema:"minimum=0"`
	Dropped   *int64   `json:"dropped" jsonschema:"minimum=0"`
}

// Window is the judged time.
type Window struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Seconds int64     `json:"seconds" jsonschema:"minimum=0"`
	Count   int       `json:"count" jsonschema:"minimum=0,optional"` // of hold windows from start to end; seconds adds up theirs
}

// SLO is one condition and how it came out.
type SLO struct {
	Metric     string   `json:"metric" jsonschema:"minLength=1"`
	Expression string   `json:"expression" jsonschema:"minLength=1"`
	Unit       string   `json:"unit" jsonschema:"optional"` // of limit, observed, lower and upper
	Limit      float64  `json:"limit"`
	Observed   *float64 `json:"observed"`
	Lower      *float64 `json:"lower"`
	Upper      *float64 `json:"upper"`
	Basis      string   `json:"basis" jsonschema:"enum=counted,enum=inferred"` // what the verdict rests on: counted in this run, or inferred of the system at 95 % confidence
	Samples    *int64   `json:"samples" jsonschema:"minimum=0"`
	Violations *int64   `json:"violations" jsonschema:"minimum=0"`                    // exact; null where there is no data, or where only violations_at_least and violations_at_most are known
	AtLeast    *int64   `json:"violations_at_least,omitempty" jsonschema:"minimum=0"` // bounds where violations have no exact count
	AtMost     *int64   `json:"violations_at_most,omitempty" jsonschema:"minimum=0"`
	Allowed    *int64   `json:"violations_allowed" jsonschema:"minimum=0,optional"` // most violations of these samples that keep the bound; null where the count itself decides
	Cleared    *int64   `json:"violations_cleared" jsonschema:"minimum=0,optional"` // certain even without what the generator itself added; null where no samples decide

	// These are null for conditions that the inferred test does not decide.

	DesignEffect *float64 `json:"design_effect" jsonschema:"minimum=1,optional"`            // by how much autocorrelation widens the variance of the violations
	Effective    *float64 `json:"effective_samples" jsonschema:"minimum=0,optional"`        // samples / design_effect
	Needed       *float64 `json:"effective_samples_needed" jsonschema:"minimum=0,optional"` // the least with which the test may pass
	Correlation  *float64 `json:"correlation_seconds" jsonschema:"minimum=0,optional"`      // for how long neighbouring samples resemble each other; null also where that cannot be told

	FailedWindow *int   `json:"failed_window" jsonschema:"minimum=1,optional"` // judged window, from 1, that breaks the condition by itself where all together do not; null: none
	CloseWindow  *int   `json:"close_window" jsonschema:"minimum=1,optional"`  // judged window, from 1, that holds more violations than it allows without surely failing; null: none
	Verdict      string `json:"verdict" jsonschema:"enum=PASS,enum=FAIL,enum=INVALID,enum=INCONCLUSIVE"`
}

// Rule is one validity rule. Its verdict is PASS, LIMITATION (the claim holds
// with what limitations say), INVALID, FAIL or INCONCLUSIVE.
type Rule struct {
	ID       string   `json:"id" jsonschema:"minLength=1"`
	Observed *float64 `json:"observed"`
	Limit    *float64 `json:"limit"`
	Unit     string   `json:"unit" jsonschema:"optional"`
	Verdict  string   `json:"verdict" jsonschema:"enum=PASS,enum=FAIL,enum=INVALID,enum=INCONCLUSIVE,enum=LIMITATION"`
	Detail   string   `json:"detail" jsonschema:"minLength=1,optional"`
	Advice   string   `json:"advice" jsonschema:"minLength=1"`
}

// Latency describes a distribution.
type Latency struct {
	Unit  string `json:"unit" jsonschema:"enum=ms"`
	Count int64  `json:"count" jsonschema:"minimum=0,optional"`
	Percentiles
	Max   *float64    `json:"max"`
	Mean  *float64    `json:"mean"`
	Lower Percentiles `json:"lower" jsonschema:"optional"` // of the interval of each percentile; null: the samples do not bound it
	Upper Percentiles `json:"upper" jsonschema:"optional"` // likewise
}

// Percentiles of a distribution, or one side of their intervals; null is "no
// data", or a side that the samples do not bound.
type Percentiles struct {
	P50  *float64 `json:"p50" jsonschema:"minimum=0"`
	P90  *float64 `json:"p90" jsonschema:"minimum=0"`
	P95  *float64 `json:"p95" jsonschema:"minimum=0"`
	P99  *float64 `json:"p99" jsonschema:"minimum=0"`
	P999 *float64 `json:"p999" jsonschema:"minimum=0"`
}

// Outcomes are those of the transactions scheduled in the judged windows.
type Outcomes struct {
	Completed *int64 `json:"completed" jsonschema:"minimum=0"`
	Failed    *int64 `json:"failed" jsonschema:"minimum=0"`
	TimedOut  *int64 `json:"timed_out" jsonschema:"minimum=0"`
	Dropped   *int64 `json:"dropped" jsonschema:"minimum=0"`
}

// Wait is what sessions of the database were doing.
type Wait struct {
	Event                    string   `json:"event"`
	Class                    string   `json:"class"`
	AAS                      float64  `json:"aas" jsonschema:"exclusiveMinimum=0"` // average active sessions
	Share                    float64  `json:"share" jsonschema:"minimum=0,maximum=1"`
	Samples                  int64    `json:"samples" jsonschema:"minimum=0"`
	MsPerTransaction         *float64 `json:"ms_per_transaction" jsonschema:"minimum=0"`
	BaselineMsPerTransaction *float64 `json:"baseline_ms_per_transaction" jsonschema:"minimum=0"`
	Inferred                 bool     `json:"inferred"` // told from the session's state, not from a wait event
}

// Split is a component's share in a transaction's mean time.
type Split struct {
	Component                string   `json:"component" jsonschema:"minLength=1"`
	MsPerTransaction         *float64 `json:"ms_per_transaction"`
	BaselineMsPerTransaction *float64 `json:"baseline_ms_per_transaction"`
	// Of the difference, a 95 % interval; null: there is no baseline.
	Lower *float64 `json:"lower"`
	Upper *float64 `json:"upper"`
}

// Bottleneck is the component that made the run miss its SLOs; or "none" where
// it missed none, or "undetermined".
type Bottleneck struct {
	Component  string    `json:"component" jsonschema:"minLength=1"`
	Class      string    `json:"class"` // of waits; empty: the component is none of the database's
	Event      string    `json:"event"`
	Inferred   bool      `json:"inferred"`                                    // told from the session's state, not from a wait event
	Confidence *float64  `json:"confidence" jsonschema:"minimum=0,maximum=1"` // share of bootstrap resamples of the seconds in which the component comes first; null: nothing had to be explained
	GrowthMs   *float64  `json:"growth_ms"`                                   // of a transaction's mean time, that are charged to it
	Sentence   string    `json:"sentence" jsonschema:"minLength=1"`
	Evidence   []string  `json:"evidence" jsonschema:"minLength=1"`
	Confirm    []string  `json:"confirm" jsonschema:"minLength=1"` // ids of experiments that would confirm it
	Remedy     string    `json:"remedy"`
	RunnerUp   *RunnerUp `json:"runner_up"` // null: no other grew
}

// RunnerUp is the component that comes second.
type RunnerUp struct {
	Component string   `json:"component" jsonschema:"minLength=1"`
	GrowthMs  *float64 `json:"growth_ms"`
}

// Statement is one of those that took most of the database's time.
type Statement struct {
	Digest                   string   `json:"digest" jsonschema:"minLength=1"`
	Text                     string   `json:"text"`
	Share                    float64  `json:"share" jsonschema:"minimum=0,maximum=1"` // of all statement time
	MsPerTransaction         *float64 `json:"ms_per_transaction" jsonschema:"minimum=0"`
	BaselineMsPerTransaction *float64 `json:"baseline_ms_per_transaction" jsonschema:"minimum=0"`
	CallsPerTransaction      *float64 `json:"calls_per_transaction" jsonschema:"minimum=0"`
	MsPerCall                *float64 `json:"ms_per_call" jsonschema:"minimum=0"`
	RowsPerCall              *float64 `json:"rows_examined_per_call" jsonschema:"minimum=0"`
	Class                    string   `json:"class"` // of what it was seen in most; empty: it was not seen
	Event                    string   `json:"event"`
	WaitShare                float64  `json:"wait_share" jsonschema:"minimum=0,maximum=1"` // of its samples
}

// Resource is what a transaction cost.
type Resource struct {
	Name                   string   `json:"name" jsonschema:"minLength=1"`
	Unit                   string   `json:"unit" jsonschema:"enum=1/tx,enum=By/tx,enum=ms/tx"`
	PerTransaction         *float64 `json:"per_transaction" jsonschema:"minimum=0"`
	BaselinePerTransaction *float64 `json:"baseline_per_transaction" jsonschema:"minimum=0"`
}

// Ledger is acknowledged against persisted, over the whole run.
type Ledger struct {
	Acknowledged   int64      `json:"acknowledged" jsonschema:"minimum=0"`
	Persisted      int64      `json:"persisted" jsonschema:"minimum=0"`
	Missing        int64      `json:"missing" jsonschema:"minimum=0"`
	Duplicated     int64      `json:"duplicated" jsonschema:"minimum=0"`
	Unacknowledged int64      `json:"unacknowledged" jsonschema:"minimum=0"`
	PersistLagMs   PersistLag `json:"persist_lag_ms"`
}

// PersistLag is the time from acknowledgement to persistence.
type PersistLag struct {
	P99 *float64 `json:"p99" jsonschema:"minimum=0"`
	Max *float64 `json:"max" jsonschema:"minimum=0"`
}

// Generator tells whether the load was made as planned.
type Generator struct {
	Workers        int      `json:"workers" jsonschema:"minimum=0"`
	CPUShare       *float64 `json:"cpu_share" jsonschema:"minimum=0"` // of the busiest worker
	WakeupLagP99Ms *float64 `json:"wakeup_lag_p99_ms" jsonschema:"minimum=0"`
	FramesExpected *int64   `json:"frames_expected" jsonschema:"minimum=0"`
	FramesReceived int64    `json:"frames_received" jsonschema:"minimum=0"`
}

// Environment is where and with what the run took place.
type Environment struct {
	Host       record.Host      `json:"host"`
	CoLocation []string         `json:"co_location"`
	Target     string           `json:"target"`
	Database   *record.Database `json:"database"`
	Tool       record.Tool      `json:"tool"`
	Thresholds record.Digest    `json:"thresholds" jsonschema:"optional"`
	Scripts    []record.Digest  `json:"scripts" jsonschema:"optional"`
	Seed       uint64           `json:"seed,string" jsonschema:"pattern=^[0-9]+$,optional"` // text: it may be over 2^53

	// SHA-256 of the database's flavour, version and settings and the service's
	// builds: where it is another today, the certificate has ended. Null: neither
	// is known.
	Fingerprint *string         `json:"fingerprint" jsonschema:"pattern=^sha256:[0-9a-f]{64}$"`
	Service     *record.Service `json:"service"` // builds that the service tells of; null: none
}

// Evidence ties the certificate to the record.
type Evidence struct {
	ManifestSHA256 string `json:"manifest_sha256" jsonschema:"pattern=^[0-9a-f]{64}$"`
}
