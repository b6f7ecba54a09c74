// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/version"
)

// SchemaName is the value of Certificate.Schema.
const SchemaName = "assay/certificate/v1"

// Validity is how long a certificate is valid (docs/trust.md).
const Validity = 90 * 24 * time.Hour

// Certificate is certificate.json. Fields are added, never renamed; null is
// "no data", which is never 0.
type Certificate struct {
	Schema      string              `json:"schema" jsonschema:"enum=assay/certificate/v1"`
	Run         string              `json:"run" jsonschema:"minLength=1"`
	Profile     string              `json:"profile" jsonschema:"minLength=1"`
	Verdict     string              `json:"verdict" jsonschema:"enum=PASS,enum=FAIL,enum=INVALID,enum=INCONCLUSIVE"`
	Claim       string              `json:"claim" jsonschema:"minLength=1"`
	Rate        verdict.Rate        `json:"rate"`
	Window      verdict.Window      `json:"window"`
	Flows       []Flow              `json:"flows,omitempty"` // of the profile, each in its own windows; missing: it has one scenario
	SLOs        []SLO               `json:"slos"`
	Rules       []Rule              `json:"rules"`
	Latency     map[string]Latency  `json:"latency" jsonschema:"requires=transaction"` // of transactions from their scheduled arrival ("transaction"), and of requests by name
	Outcomes    verdict.Outcomes    `json:"outcomes"`                                  // of the transactions scheduled in the judged windows
	Waits       []Wait              `json:"waits" jsonschema:"nullable"`               // null: the database was not sampled
	Split       []Split             `json:"split" jsonschema:"nullable"`               // mean time per transaction, by component; null: no transaction ran
	Bottleneck  *Bottleneck         `json:"bottleneck"`                                // component that made the run miss its SLOs, "none" or "undetermined"; null: no transaction ran
	Statements  []Statement         `json:"statements" jsonschema:"nullable"`          // digests that took most of the database's time; null: the database reported none
	Resources   []Resource          `json:"resources"`                                 // mean cost per transaction; only what was measured
	Errors      []verdict.Error     `json:"errors" jsonschema:"nullable"`              // of the judged windows, by who noticed them and by class; null: no transaction was scheduled
	Pool        *verdict.Pool       `json:"pool"`                                      // the service's pool of database connections; null: not reported
	Ledger      *verdict.Ledger     `json:"ledger"`                                    // over the whole run; null: acknowledged and persisted transactions were not compared
	LoadChanges []LoadChange        `json:"load_changes,omitempty"`                    // ends of overloads and steps up in load that an SLO judges, by flow and time; missing: there are none
	Faults      []Fault             `json:"faults,omitempty"`                          // that the run injected, and their ends, by time; missing: the profile has none
	Invariants  []verdict.Invariant `json:"invariants,omitempty"`                      // of the database, checked after the load; missing: the profile has none
	Abort       *verdict.Abort      `json:"abort,omitempty"`                           // condition of the profile that stopped the run; missing: none did
	Generator   verdict.Generator   `json:"generator"`
	Scope       string              `json:"scope" jsonschema:"enum=smoke,enum=certificate,enum=trial"`
	Signed      bool                `json:"signed"`
	Issuer      *string             `json:"issuer"`   // base64 SHA-256 of the signing key's public half (PKIX); null: not signed
	Rejudged    *Rejudged           `json:"rejudged"` // thresholds that replaced those of the run; null: not re-judged
	Environment Environment         `json:"environment"`
	Limitations []string            `json:"limitations" jsonschema:"minLength=1"`
	Evidence    Evidence            `json:"evidence"`
	Attempts    *int                `json:"attempts" jsonschema:"minimum=1"` // runs of this profile with this tool so far, this one included; null: not known
	JudgedBy    *JudgedBy           `json:"judged_by,omitempty"`             // missing: by a build before 0.2.0
	Issued      time.Time           `json:"issued"`
	Expires     time.Time           `json:"expires"`

	// Transactions are examples to be looked up in the system under test, the slowest first;
	// missing: no request was marked.
	Transactions []verdict.Transaction `json:"transactions,omitempty"`
	Marking      *Marking              `json:"marking,omitempty"` // of the requests; missing: they were not marked
}

// JudgedBy is the build that has judged the record. The same build makes the same bytes of it
// again; another one the same decisions and figures, perhaps in other words.
type JudgedBy struct {
	Version  string `json:"version" jsonschema:"minLength=1"`
	Revision string `json:"revision"` // commit of the build; "+changed" if its sources were changed; empty: not known
	Rulebook string `json:"rulebook" jsonschema:"minLength=1"`
	Platform string `json:"platform" jsonschema:"minLength=1"` // like linux/amd64
}

// ThisBuild is the build that this program is.
func ThisBuild() JudgedBy { return JudgedBy(version.Of()) }

// Rejudged names the thresholds that a run was judged by, if not its own.
type Rejudged struct {
	Thresholds record.Digest `json:"thresholds"` // whose SLOs and rules were used; everything else is from the run
}

// Flow is one of the profile's flows and its result. Its SLOs are among those of the
// certificate.
type Flow struct {
	Name     string             `json:"name" jsonschema:"minLength=1"`
	Scenario string             `json:"scenario" jsonschema:"minLength=1"` // path of its script
	Verdict  string             `json:"verdict" jsonschema:"enum=PASS,enum=FAIL,enum=INVALID,enum=INCONCLUSIVE"`
	Rate     verdict.Rate       `json:"rate"`
	Window   verdict.Window     `json:"window"`
	Outcomes verdict.Outcomes   `json:"outcomes"`
	Latency  map[string]Latency `json:"latency" jsonschema:"requires=transaction"`
	Ledger   *verdict.Ledger    `json:"ledger"` // null: not compared
}

// SLO is one condition and its result.
type SLO struct {
	Flow       string   `json:"flow,omitempty" jsonschema:"minLength=1"` // that it is on; missing: of a profile without flows, or of the whole run
	Metric     string   `json:"metric" jsonschema:"minLength=1"`
	Expression string   `json:"expression" jsonschema:"minLength=1"`
	Unit       string   `json:"unit" jsonschema:"optional"` // of limit, observed, lower and upper
	Limit      float64  `json:"limit"`
	Observed   *float64 `json:"observed"`
	Lower      *float64 `json:"lower"` // ends of the interval of the observed value
	Upper      *float64 `json:"upper"`
	Basis      string   `json:"basis" jsonschema:"enum=counted,enum=inferred"` // of the verdict: counted in this run, or inferred at 95 % confidence
	Samples    *int64   `json:"samples" jsonschema:"minimum=0"`
	Violations *int64   `json:"violations" jsonschema:"minimum=0"`                    // exact; null: no data, or only violations_at_least and violations_at_most are known
	AtLeast    *int64   `json:"violations_at_least,omitempty" jsonschema:"minimum=0"` // bounds on violations, where they were not counted exactly
	AtMost     *int64   `json:"violations_at_most,omitempty" jsonschema:"minimum=0"`
	Allowed    *int64   `json:"violations_allowed" jsonschema:"minimum=0,optional"` // most violations with which the observed value is within the limit; null where the count itself decides
	Cleared    *int64   `json:"violations_cleared" jsonschema:"minimum=0,optional"` // violations that remain without the delay that the generator added; null where no samples decide

	// These are null for conditions that the inferred test does not decide.

	DesignEffect *float64 `json:"design_effect" jsonschema:"minimum=1,optional"`            // factor by which autocorrelation inflates the variance of the share of violations
	Effective    *float64 `json:"effective_samples" jsonschema:"minimum=0,optional"`        // samples / design_effect
	Needed       *float64 `json:"effective_samples_needed" jsonschema:"minimum=0,optional"` // least effective samples with which the test can pass
	Correlation  *float64 `json:"correlation_seconds" jsonschema:"minimum=0,optional"`      // correlation time of the samples; null also where it cannot be estimated

	FailedWindow *int   `json:"failed_window" jsonschema:"minimum=1,optional"` // judged window, from 1, that breaks the SLO: the only one over its limit, or the first that breaks it by itself while all windows together do not; null: none, or several together
	CloseWindow  *int   `json:"close_window" jsonschema:"minimum=1,optional"`  // judged window, from 1, with more violations than allowed, but too few to fail; null: none
	Verdict      string `json:"verdict" jsonschema:"enum=PASS,enum=FAIL,enum=INVALID,enum=INCONCLUSIVE"`

	// Between which values the observed one lies, where other senders than the workers
	// measured coarsely; observed is the middle then.

	ObservedAtLeast *float64 `json:"observed_at_least,omitempty"`
	ObservedAtMost  *float64 `json:"observed_at_most,omitempty"` // missing too where the measurement has no upper bound
}

// Name is the condition as it is shown, like "payments: transaction_duration p(95)<250".
func (s SLO) Name() string { return spec.NameOf(s.Flow, s.Metric+" "+s.Expression) }

// Rule is one validity rule and its result. LIMITATION: the rule holds, but limits
// what the certificate claims.
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
	verdict.Percentiles
	Max   *float64            `json:"max"`
	Mean  *float64            `json:"mean"`
	Lower verdict.Percentiles `json:"lower" jsonschema:"optional"` // lower ends of the percentiles' confidence intervals; null: the samples give no bound
	Upper verdict.Percentiles `json:"upper" jsonschema:"optional"` // upper ends, likewise

	AtLeast *verdict.Ends `json:"at_least,omitempty"` // between which values those lie that are measured coarsely, by other senders than the workers
	AtMost  *verdict.Ends `json:"at_most,omitempty"`
}

// Wait is one activity of the database's sessions: a wait event, or CPU.
type Wait struct {
	Event                    string   `json:"event"`
	Class                    string   `json:"class"`
	AAS                      float64  `json:"aas" jsonschema:"exclusiveMinimum=0"` // average active sessions
	Share                    float64  `json:"share" jsonschema:"minimum=0,maximum=1"`
	Samples                  int64    `json:"samples" jsonschema:"minimum=0"`
	MsPerTransaction         *float64 `json:"ms_per_transaction" jsonschema:"minimum=0"`
	BaselineMsPerTransaction *float64 `json:"baseline_ms_per_transaction" jsonschema:"minimum=0"`
	Inferred                 bool     `json:"inferred"`         // from the session's state, not from a wait event
	Client                   string   `json:"client,omitempty"` // another client of the database, whose sessions they are, of which a transaction has no part; absent: the load's
}

// Split is the mean time per transaction in one component.
type Split struct {
	Component                string   `json:"component" jsonschema:"minLength=1"`
	MsPerTransaction         *float64 `json:"ms_per_transaction"`
	BaselineMsPerTransaction *float64 `json:"baseline_ms_per_transaction"`
	// 95 % confidence interval of the change since the baseline; null: no baseline.
	Lower *float64 `json:"lower"`
	Upper *float64 `json:"upper"`
}

// Bottleneck is the component that made the run miss its SLOs, "none" where none was
// missed, or "undetermined".
type Bottleneck struct {
	Component  string    `json:"component" jsonschema:"minLength=1"`
	Class      string    `json:"class"` // class of waits; empty: not a component of the database
	Event      string    `json:"event"`
	Inferred   bool      `json:"inferred"`                                    // from the session's state, not from a wait event
	Confidence *float64  `json:"confidence" jsonschema:"minimum=0,maximum=1"` // that the component leads, at most 0.99: share of bootstrap resamples in which it does although unmeasured time is given to others (docs/diagnosis.md); null: nothing to explain
	GrowthMs   *float64  `json:"growth_ms"`                                   // growth of the mean time per transaction that is charged to the component, without queued_ms
	QueuedMs   *float64  `json:"queued_ms,omitempty"`                         // growth of the wait for connections that is charged to the component, which holds them; absent: none
	Client     string    `json:"client,omitempty"`                            // the other client of the database that the component neighbour stands for
	Flow       string    `json:"flow,omitempty"`                              // whose SLOs it explains; absent: the profile has one scenario, or no flow failed
	Cause      string    `json:"cause,omitempty"`                             // "retries": repeated calls keep the component downstream overloaded; absent: not known
	Sentence   string    `json:"sentence" jsonschema:"minLength=1"`
	Evidence   []string  `json:"evidence" jsonschema:"minLength=1"`
	Confirm    []string  `json:"confirm" jsonschema:"minLength=1"` // experiments that would confirm it
	Remedy     string    `json:"remedy"`
	RunnerUp   *RunnerUp `json:"runner_up"` // null: no other component grew
}

// RunnerUp is the component that comes second.
type RunnerUp struct {
	Component string   `json:"component" jsonschema:"minLength=1"`
	GrowthMs  *float64 `json:"growth_ms"`
}

// Statement is one of the statements that took most of the database's time.
type Statement struct {
	Digest                   string   `json:"digest" jsonschema:"minLength=1"`
	Text                     string   `json:"text"`
	Share                    float64  `json:"share" jsonschema:"minimum=0,maximum=1"` // of all statement time
	MsPerTransaction         *float64 `json:"ms_per_transaction" jsonschema:"minimum=0"`
	BaselineMsPerTransaction *float64 `json:"baseline_ms_per_transaction" jsonschema:"minimum=0"`
	CallsPerTransaction      *float64 `json:"calls_per_transaction" jsonschema:"minimum=0"`
	MsPerCall                *float64 `json:"ms_per_call" jsonschema:"minimum=0"`
	RowsPerCall              *float64 `json:"rows_examined_per_call" jsonschema:"minimum=0"`
	Class                    string   `json:"class"` // class of its most sampled wait; empty: not sampled
	Event                    string   `json:"event"`
	WaitShare                float64  `json:"wait_share" jsonschema:"minimum=0,maximum=1"` // share of its samples in that wait
	Client                   string   `json:"client,omitempty"`                            // another client of the database, which runs it; absent: the load
}

// Resource is the mean use of one resource per transaction.
type Resource struct {
	Name                   string   `json:"name" jsonschema:"minLength=1"`
	Unit                   string   `json:"unit" jsonschema:"enum=1/tx,enum=By/tx,enum=ms/tx"`
	PerTransaction         *float64 `json:"per_transaction" jsonschema:"minimum=0"`
	BaselinePerTransaction *float64 `json:"baseline_per_transaction" jsonschema:"minimum=0"`
}

// LoadChange is the end of an overload, or a step up in load, and how the system got over it.
type LoadChange struct {
	Flow         string          `json:"flow,omitempty" jsonschema:"minLength=1"`
	Change       string          `json:"change" jsonschema:"enum=end of overload,enum=step up"`
	Rate         float64         `json:"rate" jsonschema:"exclusiveMinimum=0"` // of the overload, or after the step, per second
	At           time.Time       `json:"at"`
	SettledMs    verdict.Between `json:"settled_ms"`                           // time from then on until the latency SLOs held for 10 s, known to a second
	Scheduled    *int64          `json:"scheduled" jsonschema:"minimum=0"`     // transactions that arrived until then; null: no data
	NotCompleted *int64          `json:"not_completed" jsonschema:"minimum=0"` // of these
}

// Fault is one disturbance: a fault that the run injected, or the end of that fault.
type Fault struct {
	Flow   string    `json:"flow,omitempty" jsonschema:"minLength=1"` // that recovered; missing: the profile has one scenario
	Number int       `json:"number" jsonschema:"minimum=1"`           // of the fault in the profile
	Fault  string    `json:"fault" jsonschema:"minLength=1"`
	End    bool      `json:"end"` // the end of the fault, from which the system has to recover too
	At     time.Time `json:"at"`
	// Times since then are known to a second; most is null where the load ended first, both
	// are null without data.
	FirstSuccessMs verdict.Between `json:"first_success_ms"`                     // until the first transaction ended as completed, after the last second, up to the recovery, in which none did
	RecoveryMs     verdict.Between `json:"recovery_ms"`                          // until the SLOs held again for 5 s
	Scheduled      *int64          `json:"scheduled" jsonschema:"minimum=0"`     // transactions that arrived until the recovery; null without data
	NotCompleted   *int64          `json:"not_completed" jsonschema:"minimum=0"` // of these: failed, timed out or dropped; null without data
}

// Environment is the system and the tools of the run.
type Environment struct {
	Host       record.Host      `json:"host"`
	CoLocation []string         `json:"co_location"`
	Target     string           `json:"target"`
	Database   *record.Database `json:"database"`
	Tool       record.Tool      `json:"tool"`
	Thresholds record.Digest    `json:"thresholds" jsonschema:"optional"`
	Scripts    []record.Digest  `json:"scripts" jsonschema:"optional"`
	Seed       uint64           `json:"seed,string" jsonschema:"pattern=^[0-9]+$,optional"` // a string: it may exceed 2^53

	// SHA-256 of the database's flavour, version and settings and of the service's
	// builds: the certificate no longer holds once it changes. Null: neither is known.
	Fingerprint *string         `json:"fingerprint" jsonschema:"pattern=^sha256:[0-9a-f]{64}$"`
	Service     *record.Service `json:"service"` // builds that the service reports; null: none

	// Whether all instances of the service that were read under load reported these builds and
	// no others; missing: they were not read throughout.
	ServiceUnchanged *bool `json:"service_unchanged,omitempty"`
}

// Evidence ties the certificate to the record.
type Evidence struct {
	ManifestSHA256 string `json:"manifest_sha256" jsonschema:"pattern=^[0-9a-f]{64}$"`
	Sealed         bool   `json:"sealed,omitempty"` // by the issuer's key, when the run ended; missing: nobody vouches for what the record holds
}
