// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"encoding/json"
	"fmt"
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
	SLOs        []SLO         `json:"slos"` // SLOs of the whole run
	Ledger      *Ledger       `json:"ledger,omitempty"`
	Expected    Expected      `json:"expected_statuses,omitzero"`
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
		s.Scenario, s.Load, s.Timeout, s.Think, s.Ledger, s.Expected = f.Scenario, f.Load, f.Timeout, f.Think, f.Ledger, f.Expected
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
		p.Flows = []Flow{{Scenario: s.Scenario, Load: s.Load, Timeout: s.Timeout, Think: s.Think, SLOs: s.SLOs, Ledger: s.Ledger, Expected: s.Expected}}
	}
	return nil
}

// maxSLOValues bounds the JSON values of a stored SLO, with its selector.
const maxSLOValues = 10_000

// UnmarshalJSON reads an SLO of a plan. What is stored beside its expression, for whoever
// reads the plan without this package, must be what the expression says.
func (s *SLO) UnmarshalJSON(data []byte) error {
	type stored SLO
	var is stored
	if err := foreign.DecodeJSON(data, maxSLOValues, &is); err != nil {
		return err
	}
	const rounding = 1e-12 // rounding error of a quantile that a program has computed
	means := SLO{Metric: is.Metric}
	problem := means.parseExpression(is.Expression)
	if d, known := builtin(is.Metric); problem == "" && known {
		problem = means.mismatch(d, true)
	}
	if reason := means.alwaysCounted(); is.Basis == Inferred && reason != "" {
		problem = cmp.Or(problem, reason)
	}
	switch {
	case problem != "":
		return fmt.Errorf("SLO %s: %s: %s", SLO(is).MetricText(), quote(is.Expression), problem)
	case is.Expression != means.Expression || is.Aggregate != means.Aggregate || math.Abs(is.Quantile-means.Quantile) > rounding ||
		is.Count != means.Count || is.Operator != means.Operator || is.Bound != means.Bound:
		return fmt.Errorf("SLO %s: %s is not what is stored beside it: %s %g%s%s%g", SLO(is).MetricText(), quote(is.Expression), is.Aggregate, is.Quantile, is.Count, is.Operator, is.Bound)
	case is.Basis != "" && is.Basis != Counted && is.Basis != Inferred:
		return fmt.Errorf("SLO %s: unknown basis %s", SLO(is).Name(), quote(is.Basis))
	}
	*s = SLO(is)
	s.Quantile = means.Quantile
	return nil
}
