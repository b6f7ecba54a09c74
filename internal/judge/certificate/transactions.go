package certificate

import (
	"time"

	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
)

// Transaction is one that is worth looking up in the system under test: its requests
// carried this trace id, in their traceparent.
type Transaction struct {
	TraceID   string    `json:"trace_id" jsonschema:"pattern=^[0-9a-f]{32}$"`
	Scenario  string    `json:"scenario"`
	Scheduled time.Time `json:"scheduled"`  // its latency counts from then
	LatencyMs float64   `json:"latency_ms"` // until it was interrupted, if it timed out
	Outcome   string    `json:"outcome" jsonschema:"enum=completed,enum=failed,enum=timed_out"`
	Violates  []string  `json:"violates"`              // SLOs that it, or one of its requests, violates
	Error     string    `json:"error_class,omitempty"` // of its first error
	Sampled   bool      `json:"sampled"`               // its traceparent asked for the trace to be recorded
}

// Marking is how the requests of the run are told from real ones.
type Marking struct {
	Header  string  `json:"header" jsonschema:"minLength=1"` // that held the run's id
	Value   string  `json:"value"`
	Sampled float64 `json:"sampled" jsonschema:"minimum=0,maximum=1"` // share of transactions whose trace was to be recorded
	Baggage bool    `json:"baggage"`
}

func buildTransactions(transactions []verdict.Transaction) (all []Transaction) {
	for _, t := range transactions {
		all = append(all, Transaction{
			TraceID: t.TraceID, Scenario: t.Scenario, Scheduled: t.Scheduled.Truncate(time.Microsecond), LatencyMs: document.Round(t.LatencyMs),
			Outcome: t.Outcome, Violates: list(t.Violates), Error: t.Error, Sampled: t.Sampled,
		})
	}
	return all
}

func buildMarking(p record.Plan) *Marking {
	m := p.Profile.Marking
	if m.Header == "" {
		return nil
	}
	return &Marking{Header: m.Header, Value: p.Run, Sampled: m.Sampled, Baggage: m.Baggage}
}
