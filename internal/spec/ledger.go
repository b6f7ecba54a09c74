// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"encoding/json"
	"slices"
	"strings"
)

// Ledger says how to read persisted transactions back, and how to remove them.
type Ledger struct {
	Persisted string     `json:"persisted"`         // query that returns identity and time
	Cleanup   Statements `json:"cleanup,omitempty"` // remove the run's rows, in this order; repeated while they remove any
	Lag       *Lag       `json:"lag,omitempty"`     // where to read the persist lag while the run goes on, which is shown and not judged; nil: nowhere
}

// Statements are SQL statements. A single one is written as a string, in
// thresholds.json and in records.
type Statements []string

// MarshalJSON writes one statement as a string and several as a list.
func (s Statements) MarshalJSON() ([]byte, error) {
	if len(s) == 1 {
		return json.Marshal(s[0])
	}
	return json.Marshal([]string(s))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Statements) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*s = make(Statements, 1)
		return json.Unmarshal(data, &(*s)[0])
	}
	return json.Unmarshal(data, (*[]string)(s))
}

// Arguments are the arguments of a statement of the ledger, in which every ? is the
// run id.
func Arguments(statement, run string) []any {
	return slices.Repeat([]any{run}, strings.Count(statement, "?"))
}
