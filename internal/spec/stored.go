// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"encoding/json"
	"math"
	"time"

	"assay.dev/assay/internal/foreign"
)

// stored is the JSON of a profile. As in the file, a flow without a name is part of it.
type stored struct {
	Name        string        `json:"name"`
	Description string        `json:"description,omitempty"`
	Scenario    string        `json:"scenario,omitempty"`
	Load        Load          `json:"load"`
	Timeout     time.Duration `json:"timeout_ns"`
	Think       time.Duration `json:"think_ns,omitempty"`
	SLOs        []SLO         `json:"slos"` // of the whole run
	Ledger      *Ledger       `json:"ledger,omitempty"`
	Flows       []Flow        `json:"flows,omitempty"` // with names
	rest
}

// rest is all else of a profile.
type rest Profile

// MarshalJSON writes a profile into a record.
func (p Profile) MarshalJSON() ([]byte, error) {
	s := stored{Name: p.Name, Description: p.Description, SLOs: p.WholeSLOs(), rest: rest(p)}
	if p.Named() {
		s.Flows = p.Flows
	} else if len(p.Flows) > 0 {
		f := p.Flows[0]
		s.Scenario, s.Load, s.Timeout, s.Think, s.Ledger = f.Scenario, f.Load, f.Timeout, f.Think, f.Ledger
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads a profile of a record.
func (p *Profile) UnmarshalJSON(data []byte) error {
	var s stored
	if err := foreign.DecodeJSON(data, math.MaxInt, &s); err != nil { // whoever reads the record bounds it
		return err
	}
	*p = Profile(s.rest)
	p.Name, p.Description, p.Flows, p.Common = s.Name, s.Description, s.Flows, s.SLOs
	if len(s.Flows) == 0 {
		p.Common = nil
		p.Flows = []Flow{{Scenario: s.Scenario, Load: s.Load, Timeout: s.Timeout, Think: s.Think, SLOs: s.SLOs, Ledger: s.Ledger}}
	}
	return nil
}
