package compare

import (
	"time"

	"assay/harness/judge/certificate"
	"assay/harness/judge/stats/effect"
)

// SchemaName stands in every comparison that is written as JSON.
const SchemaName = "assay/compare/v1"

// Run is one run that is compared.
type Run struct {
	Folder      string
	Certificate certificate.Certificate
}

// Group is the runs of one side.
type Group struct {
	Name    string // of its folder
	Runs    []Run
	LeftOut []LeftOut // what could not be read as a run
}

// LeftOut is a run that is excluded from the comparison.
type LeftOut struct {
	Folder string `json:"folder" jsonschema:"minLength=1"`
	Reason string `json:"reason" jsonschema:"minLength=1"`
	// judgeable says that the run is left out only because its partner is.
	judgeable bool
}

// Options of a comparison, to be fixed before a result is seen.
type Options struct {
	Tolerance float64  // share above 0, like 0.03
	Unpaired  bool     // even where runs could be paired
	Force     bool     // compare runs under different loads too
	Metrics   []string // groups or names of metrics to decide on; none: all
}

// Comparison is the result. A nil number is "no data".
type Comparison struct {
	Schema      string   `json:"schema" jsonschema:"enum=assay/compare/v1"`
	Profile     string   `json:"profile" jsonschema:"minLength=1"` // the first run's
	A           Side     `json:"a"`
	B           Side     `json:"b"`
	Tolerance   float64  `json:"tolerance" jsonschema:"exclusiveMinimum=0"` // a share; ratios from 1/(1+tolerance) to 1+tolerance are no change
	Confidence  float64  `json:"confidence" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1"`
	Pairing     Pairing  `json:"pairing"`
	Metrics     []Metric `json:"metrics"`
	Tested      int      `json:"tested" jsonschema:"minimum=0"` // metrics with a ratio, for which p is adjusted
	Needed      int      `json:"needed" jsonschema:"minimum=1"` // least pairs, or runs of each side, for "changed" with so many metrics
	Limitations []string `json:"limitations" jsonschema:"minLength=1"`
}

// Side is one group as it was compared.
type Side struct {
	Name    string    `json:"name" jsonschema:"minLength=1"`
	Runs    []RunFact `json:"runs" jsonschema:"minItems=1"`
	LeftOut []LeftOut `json:"left_out"`
}

// RunFact names a run.
type RunFact struct {
	Folder         string    `json:"folder" jsonschema:"minLength=1"`
	Run            string    `json:"run" jsonschema:"minLength=1"`
	Verdict        string    `json:"verdict" jsonschema:"enum=PASS,enum=FAIL,enum=INCONCLUSIVE"`
	Start          time.Time `json:"start"` // of its judged window
	ManifestSHA256 string    `json:"manifest_sha256" jsonschema:"pattern=^[0-9a-f]{64}$"`
}

// Pairing is which run was compared with which.
type Pairing struct {
	Paired bool     `json:"paired"`
	Detail string   `json:"detail" jsonschema:"minLength=1"`
	Pairs  [][2]int `json:"pairs" jsonschema:"minimum=0"` // indices into a.runs and b.runs; none where not paired
}

// Refusal is why two groups are not compared.
type Refusal struct{ Problem, Remedy string }

func (r *Refusal) Error() string { return r.Problem }

// Hint is what would let them be compared.
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
		return Comparison{}, &Refusal{"A and B were asked for different things: " + what, "compare like with like, or add --force"}
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
	c.Needed = effect.LeastRuns(c.Tested)
	if m.pairing.Paired {
		c.Needed = effect.LeastPairs(c.Tested)
	}
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
