// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"time"

	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
)

// Marking is how the requests of the run are told from real ones.
type Marking struct {
	Header  string  `json:"header" jsonschema:"minLength=1"` // that held the run's id
	Value   string  `json:"value"`
	Sampled float64 `json:"sampled" jsonschema:"minimum=0,maximum=1"` // share of transactions whose trace was to be recorded
	Baggage bool    `json:"baggage"`
}

func buildTransactions(transactions []verdict.Transaction) (all []verdict.Transaction) {
	for _, t := range transactions {
		t.Scheduled, t.LatencyMs, t.Violates = t.Scheduled.Truncate(time.Microsecond), document.Round(t.LatencyMs), list(t.Violates)
		all = append(all, t)
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
