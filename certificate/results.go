// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"cmp"
	"slices"
	"time"

	"assay.dev/assay/internal/quantity"
)

// SLO is one condition and its result.
type SLO struct {
	// Flow that the SLO is on; missing: the profile has no flows, or the SLO is on the whole run.
	Flow       string   `json:"flow,omitempty" jsonschema:"minLength=1"`
	Metric     string   `json:"metric" jsonschema:"minLength=1"`
	Expression string   `json:"expression" jsonschema:"minLength=1"`
	Unit       string   `json:"unit" jsonschema:"optional"` // unit of limit, observed, lower and upper
	Limit      float64  `json:"limit"`
	Observed   *float64 `json:"observed"`
	Lower      *float64 `json:"lower"` // ends of the interval of the observed value
	Upper      *float64 `json:"upper"`
	Basis      string   `json:"basis" jsonschema:"enum=counted,enum=inferred"` // basis of the verdict: counted in this run, or inferred at 95 % confidence
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
func (s SLO) Name() string {
	name := s.Metric + " " + s.Expression
	if s.Flow != "" {
		name = s.Flow + ": " + name
	}
	return name
}

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
	Percentiles
	Max   *float64    `json:"max"`
	Mean  *float64    `json:"mean"`
	Lower Percentiles `json:"lower" jsonschema:"optional"` // lower ends of the percentiles' confidence intervals; null: the samples give no bound
	Upper Percentiles `json:"upper" jsonschema:"optional"` // upper ends, likewise

	AtLeast *Ends `json:"at_least,omitempty"` // between which values those lie that are measured coarsely, by other senders than the workers
	AtMost  *Ends `json:"at_most,omitempty"`
}

// LoadChange is the end of an overload, or a step up in load, and how the system got over it.
type LoadChange struct {
	Flow         string    `json:"flow,omitempty" jsonschema:"minLength=1"`
	Change       string    `json:"change" jsonschema:"enum=end of overload,enum=step up"`
	Rate         float64   `json:"rate" jsonschema:"exclusiveMinimum=0"` // rate of the overload, or rate after the step, per second
	At           time.Time `json:"at"`
	SettledMs    Between   `json:"settled_ms"`                           // time from then on until the latency SLOs held for 10 s, known to a second
	Scheduled    *int64    `json:"scheduled" jsonschema:"minimum=0"`     // transactions that arrived until then; null: no data
	NotCompleted *int64    `json:"not_completed" jsonschema:"minimum=0"` // scheduled transactions that were not completed
}

// Fault is one disturbance: a fault that the run injected, or the end of that fault.
type Fault struct {
	Flow   string    `json:"flow,omitempty" jsonschema:"minLength=1"` // flow that recovered; missing: the profile has one scenario
	Number int       `json:"number" jsonschema:"minimum=1"`           // number of the fault in the profile
	Fault  string    `json:"fault" jsonschema:"minLength=1"`
	End    bool      `json:"end"` // the end of the fault, from which the system has to recover too
	At     time.Time `json:"at"`
	// Times since then are known to a second; most is null where the load ended first, both
	// are null without data.
	FirstSuccessMs Between `json:"first_success_ms"`                     // until the first transaction ended as completed, after the last second, up to the recovery, in which none did
	RecoveryMs     Between `json:"recovery_ms"`                          // until the SLOs held again for 5 s
	Scheduled      *int64  `json:"scheduled" jsonschema:"minimum=0"`     // transactions that arrived until the recovery; null without data
	NotCompleted   *int64  `json:"not_completed" jsonschema:"minimum=0"` // scheduled transactions that failed, timed out or were dropped; null without data
}

// Rate is the planned and the achieved load in the judged windows. Rates are per
// second.
type Rate struct {
	Unit      string   `json:"unit" jsonschema:"enum=tps,enum=rps"`
	Target    float64  `json:"target" jsonschema:"exclusiveMinimum=0"`
	Lowest    float64  `json:"lowest" jsonschema:"exclusiveMinimum=0"` // lowest judged rate; equal to the target where the plan has one rate
	Achieved  *float64 `json:"achieved" jsonschema:"minimum=0"`
	Scheduled *int64   `json:"scheduled" jsonschema:"minimum=0"`
	Completed *int64   `json:"completed" jsonschema:"minimum=0"`
	Dropped   *int64   `json:"dropped" jsonschema:"minimum=0"`
}

// String is the planned rate, like "20 to 40 tps".
func (r Rate) String() string {
	text := quantity.Exact(r.Target) + " " + r.Unit
	if r.Lowest < r.Target {
		text = quantity.Exact(r.Lowest) + " to " + text
	}
	return text
}

// Window is the judged part of the run.
type Window struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Seconds int64     `json:"seconds" jsonschema:"minimum=0"`
	Count   int       `json:"count" jsonschema:"minimum=0,optional"` // number of judged windows between start and end; seconds is their total length
}

// Outcomes counts the transactions scheduled in the judged windows by outcome.
type Outcomes struct {
	Completed *int64 `json:"completed" jsonschema:"minimum=0"`
	Failed    *int64 `json:"failed" jsonschema:"minimum=0"`
	TimedOut  *int64 `json:"timed_out" jsonschema:"minimum=0"`
	Dropped   *int64 `json:"dropped" jsonschema:"minimum=0"`
}

// Ends are one end of the intervals between which values of a distribution lie; missing:
// the value is known, or the measurement has no upper bound.
type Ends struct {
	P50  *float64 `json:"p50,omitempty" jsonschema:"minimum=0"`
	P90  *float64 `json:"p90,omitempty" jsonschema:"minimum=0"`
	P95  *float64 `json:"p95,omitempty" jsonschema:"minimum=0"`
	P99  *float64 `json:"p99,omitempty" jsonschema:"minimum=0"`
	P999 *float64 `json:"p999,omitempty" jsonschema:"minimum=0"`
	Max  *float64 `json:"max,omitempty"`
}

// Percentiles of a distribution, or one end of their confidence intervals; null: no
// data, or no bound.
type Percentiles struct {
	P50  *float64 `json:"p50" jsonschema:"minimum=0"`
	P90  *float64 `json:"p90" jsonschema:"minimum=0"`
	P95  *float64 `json:"p95" jsonschema:"minimum=0"`
	P99  *float64 `json:"p99" jsonschema:"minimum=0"`
	P999 *float64 `json:"p999" jsonschema:"minimum=0"`
}

// Error is the errors of one class that one place noticed in the judged windows.
type Error struct {
	Where string   `json:"where" jsonschema:"minLength=1"` // client, script, service, database (of all its clients)
	Class string   `json:"class" jsonschema:"minLength=1"` // connection refused, HTTP 503, too many connections, ...
	Count int64    `json:"count" jsonschema:"minimum=1"`
	Share *float64 `json:"share" jsonschema:"minimum=0"` // errors as a share of the scheduled transactions; more than 1 where a transaction has several errors
}

// Check is a check of the script, and how often it passed and failed in the judged windows.
type Check struct {
	Flow     string `json:"flow,omitempty" jsonschema:"minLength=1"`
	Group    string `json:"group,omitempty"` // like "::checkout"; missing: outside of groups
	Name     string `json:"name" jsonschema:"minLength=1"`
	Passes   int64  `json:"passes" jsonschema:"minimum=0"`
	Failures int64  `json:"failures" jsonschema:"minimum=0"`
}

// Pool is the service's pool of database connections in the judged windows; of several
// pools and instances, their sum. Null: not reported.
type Pool struct {
	Max                  *float64 `json:"max" jsonschema:"minimum=0"`    // limit of connections; 0: none
	Open                 *float64 `json:"open" jsonschema:"minimum=0"`   // most connections open
	InUse                *float64 `json:"in_use" jsonschema:"minimum=0"` // mean connections in use
	InUseMax             *float64 `json:"in_use_max" jsonschema:"minimum=0"`
	WaitsPerSecond       *float64 `json:"waits_per_second" jsonschema:"minimum=0"` // requests that waited for a connection
	WaitsPerTransaction  *float64 `json:"waits_per_transaction" jsonschema:"minimum=0"`
	WaitMsPerTransaction *float64 `json:"wait_ms_per_transaction" jsonschema:"minimum=0"`
	MsPerWait            *float64 `json:"ms_per_wait" jsonschema:"minimum=0"`
}

// Ledger compares acknowledged with persisted transactions, over the whole run.
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
	P50 *float64 `json:"p50" jsonschema:"minimum=0,optional"`
	P99 *float64 `json:"p99" jsonschema:"minimum=0"`
	Max *float64 `json:"max" jsonschema:"minimum=0"`
}

// Between bounds a value.
type Between struct {
	Least *float64 `json:"least" jsonschema:"minimum=0"`
	Most  *float64 `json:"most" jsonschema:"minimum=0"`
}

// Invariant is something that must hold in the database whatever the load did.
type Invariant struct {
	Name  string `json:"name" jsonschema:"minLength=1"`
	Rows  *int64 `json:"violating_rows" jsonschema:"minimum=0"` // counted up to 1000; null: it was not checked
	Error string `json:"error,omitempty"`                       // why it was not checked
}

// Abort is the condition of the profile that stopped the run, to protect the target or others.
type Abort struct {
	Condition  string    `json:"condition" jsonschema:"minLength=1"` // the metric that it is on, or the name that the profile gives it
	Expression string    `json:"expression" jsonschema:"minLength=1"`
	Protects   string    `json:"protects" jsonschema:"minLength=1"` // like "the target" or "the neighbour orders"
	SLO        bool      `json:"slo"`                               // it is on a rate of the load, and if truncated, its row is the last of the SLOs; false: no SLO of the system
	Truncated  bool      `json:"truncated"`                         // it cut short what the SLOs judge, so that the run did not pass; false: it held after that
	Unit       string    `json:"unit"`                              // unit of the limit and of the observed values
	Limit      float64   `json:"limit"`
	From       time.Time `json:"from"` // start of the first second in which it held
	To         time.Time `json:"to"`   // end of the last one
	Observed   []Reading `json:"observed"`
}

// Range is between which values the readings lie, like "31 % to 52 %"; empty: nothing was
// read.
func (a Abort) Range() string {
	if len(a.Observed) == 0 {
		return ""
	}
	byValue := func(x, y Reading) int { return cmp.Compare(x.Value, y.Value) }
	least := quantity.Near(slices.MinFunc(a.Observed, byValue).Value, a.Limit, a.Unit)
	most := quantity.Near(slices.MaxFunc(a.Observed, byValue).Value, a.Limit, a.Unit)
	if least == most {
		return least
	}
	return least + " to " + most
}

// Reading is what an abort condition read in one second.
type Reading struct {
	At    time.Time `json:"at"` // start of the second
	Value float64   `json:"value"`
}

// Generator describes how the load was generated.
type Generator struct {
	Workers        int      `json:"workers" jsonschema:"minimum=0"`
	CPUShare       *float64 `json:"cpu_share" jsonschema:"minimum=0"` // share of its CPUs that the busiest worker used
	WakeupLagP99Ms *float64 `json:"wakeup_lag_p99_ms" jsonschema:"minimum=0"`
	FramesExpected *int64   `json:"frames_expected" jsonschema:"minimum=0"`
	FramesReceived int64    `json:"frames_received" jsonschema:"minimum=0"`
	Fleet          []Worker `json:"fleet" jsonschema:"optional"` // the workers, in the judged windows
	// Addresses are what connections and requests of the load reached; missing: not reported.
	Addresses []Address `json:"addresses,omitempty"`
}

// Address is an address that the load reached, over the whole run.
type Address struct {
	Host        string   `json:"host"`                                   // name, or the address itself; "others": beyond those that are counted each
	Address     string   `json:"address"`                                // IP:PORT, or "others"
	Workers     []string `json:"workers" jsonschema:"minItems=1"`        // those that reached it
	Connections int64    `json:"connections" jsonschema:"minimum=0"`     // begun to it
	Requests    int64    `json:"requests" jsonschema:"minimum=0"`        // HTTP requests over them
	Share       float64  `json:"share" jsonschema:"minimum=0,maximum=1"` // of the requests to the host; of the connections if there were none
	Resolved    *bool    `json:"resolved,omitempty"`                     // the name had the address when the load ended; missing: it was not looked up
}

// Worker is one worker of the run. Null: not reported.
type Worker struct {
	Worker       string   `json:"worker" jsonschema:"minLength=1"`
	Host         string   `json:"host"`
	Pod          string   `json:"pod,omitempty"`                                   // NAMESPACE/NAME; missing: not in a cluster
	Node         string   `json:"node,omitempty"`                                  // node that the pod ran on
	Share        float64  `json:"share" jsonschema:"exclusiveMinimum=0,maximum=1"` // share of the load
	Transactions *int64   `json:"transactions" jsonschema:"minimum=0"`             // scheduled on it
	P95Ms        *float64 `json:"p95_ms" jsonschema:"minimum=0"`                   // p95 of the worker's own transactions; percentiles of workers must not be averaged
	P99Ms        *float64 `json:"p99_ms" jsonschema:"minimum=0"`
	CPUShare     *float64 `json:"cpu_share" jsonschema:"minimum=0"`
	HostCPUShare *float64 `json:"host_cpu_share,omitempty" jsonschema:"minimum=0,maximum=1"` // share of CPU time for which the worker's host, or node, was busy
	LagP99Ms     *float64 `json:"wakeup_lag_p99_ms" jsonschema:"minimum=0"`
	StartDelayMs *float64 `json:"start_delay_ms" jsonschema:"minimum=0"` // delay of the worker's first arrival
	// Offset of the clock of the worker's machine, positive if it is ahead of the coordinator's
	// clock; corrected at the start.
	ClockOffsetMs  *float64 `json:"clock_offset_ms"`
	ClockDriftMs   *float64 `json:"clock_drift_ms"`                       // largest change of the offset since the start
	RoundTripMs    *float64 `json:"round_trip_ms" jsonschema:"minimum=0"` // to the coordinator; the clocks are compared to within half of it
	FramesExpected *int64   `json:"frames_expected" jsonschema:"minimum=0"`
	FramesReceived int64    `json:"frames_received" jsonschema:"minimum=0"`
	Unlike         bool     `json:"unlike"` // its transactions were slower or faster than those of the other workers
}

// Transaction is one that is worth looking up in the system under test: its requests
// carried this trace id, in their traceparent.
type Transaction struct {
	TraceID   string    `json:"trace_id" jsonschema:"pattern=^[0-9a-f]{32}$"`
	Scenario  string    `json:"scenario"`
	Scheduled time.Time `json:"scheduled"`  // its latency counts from then
	LatencyMs float64   `json:"latency_ms"` // until it was interrupted, if it timed out
	Outcome   string    `json:"outcome" jsonschema:"enum=completed,enum=failed,enum=timed_out"`
	Violates  []string  `json:"violates"`              // SLOs that it, or one of its requests, violates
	Error     string    `json:"error_class,omitempty"` // class of the transaction's first error
	Sampled   bool      `json:"sampled"`               // its traceparent asked for the trace to be recorded
}
