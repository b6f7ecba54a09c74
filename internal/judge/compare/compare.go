// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/stats/effect"
)

// SchemaName is the value of Comparison.Schema.
const SchemaName = "assay/compare/v1"

// Run is one run that is compared.
type Run struct {
	Folder      string
	Certificate certificate.Certificate
}

// Group is the runs of one side.
type Group struct {
	Name    string // its folder
	Runs    []Run
	LeftOut []LeftOut // folders that could not be read as runs
}

// LeftOut is a run that is excluded from the comparison.
type LeftOut struct {
	Folder string `json:"folder" jsonschema:"minLength=1"`
	Reason string `json:"reason" jsonschema:"minLength=1"`
	// judgeable: the run is valid, and left out only because its partner is.
	judgeable bool
}

// Options of a comparison, to be fixed before any result is known.
type Options struct {
	Tolerance float64  // a share above 0, like 0.03
	Unpaired  bool     // do not pair runs, even if they could be paired
	Force     bool     // also compare runs under different loads
	Metrics   []string // groups or names of the metrics to test; none: all
}

// Comparison is the result. A nil number is "no data".
type Comparison struct {
	Schema      string    `json:"schema" jsonschema:"enum=assay/compare/v1"`
	Profile     string    `json:"profile" jsonschema:"minLength=1"` // profile of the first run
	A           Side      `json:"a"`
	B           Side      `json:"b"`
	Tolerance   float64   `json:"tolerance" jsonschema:"exclusiveMinimum=0"` // a share; ratios from 1/(1+tolerance) to 1+tolerance are no change
	Confidence  float64   `json:"confidence" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1"`
	Pairing     Pairing   `json:"pairing"`
	Metrics     []Metric  `json:"metrics"`
	Tested      int       `json:"tested" jsonschema:"minimum=0"` // number of metrics with a ratio, for which p is adjusted
	Needed      int       `json:"needed" jsonschema:"minimum=1"` // least pairs, or runs per side, for "changed" with this many metrics
	Outliers    []Outlier `json:"outliers"`                      // runs that stand out of their side, the clearest first; at most three
	Limitations []string  `json:"limitations" jsonschema:"minLength=1"`
}

// Side is one group of the comparison.
type Side struct {
	Name    string    `json:"name" jsonschema:"minLength=1"`
	Runs    []RunFact `json:"runs" jsonschema:"minItems=1"`
	LeftOut []LeftOut `json:"left_out"`
}

// RunFact identifies a run.
type RunFact struct {
	Folder         string    `json:"folder" jsonschema:"minLength=1"`
	Run            string    `json:"run" jsonschema:"minLength=1"`
	Verdict        string    `json:"verdict" jsonschema:"enum=PASS,enum=FAIL,enum=INCONCLUSIVE"`
	Start          time.Time `json:"start"` // start of the run's judged window
	ManifestSHA256 string    `json:"manifest_sha256" jsonschema:"pattern=^[0-9a-f]{64}$"`
}

// Pairing says which runs were compared with each other.
type Pairing struct {
	Paired bool     `json:"paired"`
	Detail string   `json:"detail" jsonschema:"minLength=1"`
	Pairs  [][2]int `json:"pairs" jsonschema:"minimum=0"` // indices into a.runs and b.runs; none where not paired
}

// Refusal is the error for two groups that cannot be compared.
type Refusal struct{ Problem, Remedy string }

func (r *Refusal) Error() string { return r.Problem }

// Hint is the next step.
func (r *Refusal) Hint() string { return r.Remedy }

// Compare compares B with A.
func Compare(a, b Group, o Options) (Comparison, error) {
	if err := checkIdentity(a, b); err != nil {
		return Comparison{}, err
	}
	m := match(a, b, o.Unpaired)
	if err := m.checkAnyLeft(a, b); err != nil {
		return Comparison{}, err
	}
	if what := loadDifference(m.a, m.b); what != "" && !o.Force {
		return Comparison{}, &Refusal{"A and B ran under different loads: " + what, "compare runs with the same profile, unit and target rate, or add --force"}
	}
	metrics, err := selected(measure(m), o.Metrics)
	if err != nil {
		return Comparison{}, err
	}
	c := Comparison{
		Schema: SchemaName, Profile: m.a[0].Certificate.Profile,
		A:         Side{a.Name, facts(m.a), m.leftA},
		B:         Side{b.Name, facts(m.b), m.leftB},
		Tolerance: o.Tolerance, Confidence: effect.Confidence,
		Pairing: m.pairing,
	}
	c.Metrics, c.Tested = decide(metrics, m.pairing.Paired, o.Tolerance)
	c.Needed = effect.MinRuns(c.Tested)
	if m.pairing.Paired {
		c.Needed = effect.MinPairs(c.Tested)
	}
	c.nameOutliers(m)
	c.Limitations = c.limitations(m)
	return c, nil
}

func facts(runs []Run) []RunFact {
	all := make([]RunFact, 0, len(runs))
	for _, r := range runs {
		c := r.Certificate
		all = append(all, RunFact{r.Folder, c.Run, c.Verdict, c.Window.Start, c.Evidence.ManifestSHA256})
	}
	return all
}
