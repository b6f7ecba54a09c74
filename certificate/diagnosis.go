// SPDX-License-Identifier: Apache-2.0

package certificate

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
	Component string `json:"component" jsonschema:"minLength=1"`
	Class     string `json:"class"` // class of waits; empty: not a component of the database
	Event     string `json:"event"`
	Inferred  bool   `json:"inferred"` // from the session's state, not from a wait event
	// Confidence that the component leads, at most 0.99: share of bootstrap resamples in which
	// it leads although unmeasured time is given to others (docs/diagnosis.md); null: nothing
	// to explain.
	Confidence *float64  `json:"confidence" jsonschema:"minimum=0,maximum=1"`
	GrowthMs   *float64  `json:"growth_ms"`           // growth of the mean time per transaction that is charged to the component, without queued_ms
	QueuedMs   *float64  `json:"queued_ms,omitempty"` // growth of the wait for connections that is charged to the component, which holds them; absent: none
	Client     string    `json:"client,omitempty"`    // the other client of the database that the component neighbour stands for
	Flow       string    `json:"flow,omitempty"`      // whose SLOs it explains; absent: the profile has one scenario, or no flow failed
	Cause      string    `json:"cause,omitempty"`     // "retries": repeated calls keep the component downstream overloaded; absent: not known
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
	Share                    float64  `json:"share" jsonschema:"minimum=0,maximum=1"` // share of all statement time
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
