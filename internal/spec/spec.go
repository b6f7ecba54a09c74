// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"math"
	"time"

	"assay.dev/assay/internal/observe/metric"
)

// File is a decoded thresholds.json.
type File struct {
	Path     string             // as the caller named it; scenarios are relative to its folder
	Text     []byte             // the file's bytes
	Digest   string             // "sha256:" and the hex digest of Text
	Targets  []string           // hosts that load may be sent to, in addition to loopback
	Profiles map[string]Profile // by name
}

// Load is the shape of the offered load: either Target with its phases, or
// Stages. Rates are arrivals per second.
type Load struct {
	Unit     string        `json:"unit"` // "tps" or "rps"
	Target   float64       `json:"target,omitempty"`
	Warmup   time.Duration `json:"warmup_ns,omitempty"`
	Baseline Baseline      `json:"baseline"`
	Ramp     time.Duration `json:"ramp_ns,omitempty"`
	Hold     time.Duration `json:"hold_ns,omitempty"`
	HoldMax  time.Duration `json:"hold_max_ns,omitempty"` // longest extended hold of an undecided run; 0: Hold is not extended
	Cooldown time.Duration `json:"cooldown_ns,omitempty"`
	Stages   []Stage       `json:"stages,omitempty"`
	Even     bool          `json:"even,omitempty"` // even spacing of arrivals instead of Poisson
	// Threads is the number of VUs of the closed model, in which each begins a transaction
	// when its last one has ended. Then Warmup and Hold alone count. No file can hold it, and
	// no run with it is judged valid. 0: the open model.
	Threads int `json:"threads,omitempty"`
}

// WithThreads is the profile under the closed model.
func (p Profile) WithThreads(n int, warmup, hold time.Duration) Profile {
	return p.WithFlows(func(f *Flow) {
		f.Load = Load{Unit: f.Load.Unit, Threads: n, Warmup: warmup, Hold: hold}
	})
}

// Baseline is the low load that the diagnosis compares the hold window with.
type Baseline struct {
	Rate float64       `json:"rate"`
	For  time.Duration `json:"for_ns"`
}

// Stage is one step of an event's shape: reach Rate within Ramp (from the rate
// before), then hold it for For.
type Stage struct {
	Rate  float64       `json:"rate"`
	For   time.Duration `json:"for_ns"`
	Ramp  time.Duration `json:"ramp_ns,omitempty"`
	Judge bool          `json:"judge,omitempty"`
	// Overload: the rate is above the target, and judged by goodput instead of latency.
	Overload bool `json:"overload,omitempty"`
}

// Aggregate is the statistic that an SLO compares with its bound.
type Aggregate string

// The aggregates of SLO expressions.
const (
	Percentile Aggregate = "percentile" // p(N): Quantile is N/100
	Rate       Aggregate = "rate"       // share of samples that are not 0
	Max        Aggregate = "max"        // largest sample
	Exact      Aggregate = "exact"      // a count that must equal the bound: ledger's missing, duplicated
)

// Basis is how an SLO is decided (docs/rulebook.md).
type Basis = string

// The bases.
const (
	Counted  Basis = "counted"  // violations in this run are counted
	Inferred Basis = "inferred" // a test about the system, at 95 % confidence
)

// SLO is one condition on one metric.
type SLO struct {
	// Flow is the flow that the SLO is on; empty: a flow without a name, or all flows.
	Flow       string         `json:"flow,omitempty"`
	Metric     string         `json:"metric"`             // e.g. "http_req_duration"
	Selector   []metric.Label `json:"selector,omitempty"` // e.g. name:pay; sorted by key
	Expression string         `json:"expression"`         // as in the file, spaces removed, e.g. "p(95)<200"
	Aggregate  Aggregate      `json:"aggregate"`
	Quantile   float64        `json:"quantile,omitempty"` // (0, 1), for Percentile
	Count      string         `json:"count,omitempty"`    // for Exact: "missing" or "duplicated"
	Operator   string         `json:"operator"`           // "<", "<=", ">", ">=" (the last two for Rate alone), "=="
	Bound      float64        `json:"bound"`              // in the metric's own unit: ms for times, a share for rates
	Basis      Basis          `json:"basis,omitempty"`    // as the file declares it; empty: by scope
	At         Position       `json:"-"`                  // position of the expression, for CheckMetrics
}

// MetricText is the metric with its selector, as thresholds.json writes it.
func (s SLO) MetricText() string {
	return metric.Series{Name: s.Metric, Labels: s.Selector}.Key()
}

// Name is the SLO as certificates name it, like "payments: transaction_duration p(95)<250".
func (s SLO) Name() string { return NameOf(s.Flow, s.MetricText()+" "+s.Expression) }

// NameOf names something of a flow; flow is empty for one without a name, and for what is
// of the whole run.
func NameOf(flow, name string) string {
	if flow == "" {
		return name
	}
	return flow + ": " + name
}

// ID is the SLO as text; two SLOs are equal if and only if their IDs are.
func (s SLO) ID() string {
	id := s.MetricText() + ":" + s.Expression
	if s.Flow != "" {
		id = s.Flow + "/" + id
	}
	return id
}

// Violates reports whether one sample violates the SLO: a latency at or over the
// bound, or for rates with an upper bound a sample that is not 0 (with a lower bound:
// one that is 0).
func (s SLO) Violates(v float64) bool {
	switch {
	case s.AtLeast():
		return v == 0
	case s.Aggregate == Rate:
		return v != 0
	case s.Operator == "<=":
		return v > s.Bound
	default:
		return v >= s.Bound
	}
}

// LeastViolating is the smallest value that violates a bound on a latency.
func (s SLO) LeastViolating() float64 {
	if s.Operator == "<=" {
		return math.Nextafter(s.Bound, math.Inf(1))
	}
	return s.Bound
}

// AtLeast reports whether the SLO bounds a share from below: samples of 0 then
// violate it.
func (s SLO) AtLeast() bool { return s.Aggregate == Rate && (s.Operator == ">" || s.Operator == ">=") }

// AllowedShare is the share of samples that may violate a percentile or a rate; 0 for
// the other aggregates. The share of p(P) is 1 - P/100 rounded to billionths, as 1 - 0.9 is not
// 0.1 in floating point, but never to 0.
func (s SLO) AllowedShare() float64 {
	const unit = 1_000_000_000
	switch {
	case s.Aggregate == Percentile:
		if q := (unit - math.Round(s.Quantile*unit)) / unit; q > 0 {
			return q
		}
		return 1 - s.Quantile
	case s.AtLeast():
		return 1 - s.Bound
	case s.Aggregate == Rate:
		return s.Bound
	}
	return 0
}

// BasisIn is the basis on which the SLO is to be decided in a run of a scope.
func (s SLO) BasisIn(scope string) Basis {
	switch {
	case s.Basis != "":
		return s.Basis
	case scope == ScopeCertificate:
		return Inferred
	}
	return Counted
}

// Rules are the limits of the validity rules that a profile may override;
// DefaultRules gives those of docs/rulebook.md, Limits applies the overrides to them. nil is the
// default.
type Rules struct {
	GeneratorDrops *float64       `json:"generator_drops,omitempty"` // share of scheduled arrivals [0,1]
	Offered        *float64       `json:"offered,omitempty"`         // share of slots displaced [0,1]
	GeneratorCPU   *float64       `json:"generator_cpu,omitempty"`   // share of the CPUs a worker may use [0,1]
	Machine        *float64       `json:"machine,omitempty"`         // share of a host's CPU time that others may take from it [0,1]
	CollectorShare *float64       `json:"collector_share,omitempty"` // share of database samples taken [0,1]
	CollectorGap   *time.Duration `json:"collector_gap_ns,omitempty"`
}
