package synthetic

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// T0 is when every synthetic load starts.
var T0 = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// Case is a simulated run, which a test may change before it becomes a record.
type Case struct {
	Run    record.Run
	Frames []metric.Frame
}

// How a transaction may end beside the outcomes in the package metric.
const (
	Threw    = "threw"     // failed: the script threw before it sent anything
	OwnError = "own error" // failed: the script threw an error of its own after a request that succeeded
	Hung     = "hung"      // timed out: its request was still open, and is not reported
	Idle     = "idle"      // completed, and sent nothing
)

// System is the system under test: after how long transaction n of the run ends, and how.
type System func(n int64) (latencyMs float64, outcome string)

// Generator is the load generator: by how much it starts transaction n late, and for how
// long it is stalled while the transaction is open.
type Generator func(n int64) (lagMs, stalledMs float64)

// Healthy answers 98 of 100 transactions within 120 ms, the others at 300 ms.
func Healthy(n int64) (latencyMs float64, outcome string) {
	if n%50 == 7 {
		return 300, metric.Completed
	}
	return 20 + float64(n*37%100), metric.Completed
}

// Profile has 20 transactions per second and every kind of SLO.
func Profile() spec.Profile {
	name := []metric.Label{{Key: "name", Value: "pay"}}
	return spec.Profile{
		Name: "synthetic", Flows: []spec.Flow{{Scenario: "scenarios/synthetic.js", Timeout: 10 * time.Second, Load: spec.Load{
			Unit: "tps", Target: 20, Warmup: 2 * time.Second,
			Baseline: spec.Baseline{Rate: 5, For: 10 * time.Second},
			Ramp:     4 * time.Second, Hold: 30 * time.Second, Cooldown: 2 * time.Second,
		}, SLOs: []spec.SLO{
			Percentile(metric.RequestDuration, 95, 250, name...),
			{Metric: metric.RequestFailed, Expression: "rate<0.1", Aggregate: spec.Rate, Operator: "<", Bound: 0.1},
			{Metric: metric.Ledger, Expression: "missing==0", Aggregate: spec.Exact, Count: "missing", Operator: "=="},
			{Metric: metric.Ledger, Expression: "duplicated==0", Aggregate: spec.Exact, Count: "duplicated", Operator: "=="},
			{Metric: metric.PersistLag, Expression: "max<5000", Aggregate: spec.Max, Operator: "<", Bound: 5000},
			Percentile(metric.TransactionDuration, 95, 250),
			{Metric: metric.TransactionDuration, Expression: "max<2000", Aggregate: spec.Max, Operator: "<", Bound: 2000},
		}, Ledger: &spec.Ledger{Persisted: "SELECT id, persisted_at FROM payments WHERE run_id = ?"}}},
	}
}

// Percentile is the SLO p(P)<bound.
func Percentile(name string, p, bound float64, selector ...metric.Label) spec.SLO {
	return spec.SLO{
		Metric: name, Selector: selector, Expression: fmt.Sprintf("p(%g)<%g", p, bound),
		Aggregate: spec.Percentile, Quantile: p / 100, Operator: "<", Bound: bound,
	}
}

// New simulates a run of a profile on a number of workers against a system.
func New(p spec.Profile, workers int, system System) *Case {
	return NewWith(p, workers, system, func(int64) (lagMs, stalledMs float64) { return 0, 0 })
}

// NewWith is New with a generator.
func NewWith(p spec.Profile, workers int, system System, generator Generator) *Case {
	p.Flows = slices.Clone(p.Flows) // a test may change those of one case
	load, err := plan.New(p, workers, 1)
	if err != nil {
		panic(err) // a test's own profile
	}
	c := &Case{Run: record.Run{
		Plan: record.Plan{
			Schema: "assay/plan/v1", Run: "20261120-120000-synthetic", Profile: p, Load: load,
			Target: "http://127.0.0.1:8080", Database: "assay@tcp(127.0.0.1:3306)/assay",
			Thresholds: record.Digest{Path: "thresholds.json", SHA256: "sha256:" + strings.Repeat("1", 64)},
			Scripts:    []record.Digest{{Path: p.Flows[0].Scenario, SHA256: "sha256:" + strings.Repeat("2", 64)}},
			Scope:      spec.ScopeSmoke,
			Tool:       record.Tool{Version: "v0.0.0", Revision: "synthetic", Go: "go1.26", K6: "v1.8.1"},
		},
		Environment: record.Environment{
			Schema:     "assay/environment/v1",
			Host:       record.Host{Name: "synthetic", OS: "linux", CPU: "none", CPUs: 2, Memory: 1 << 33},
			Database:   &record.Database{Flavour: "mysql", Version: "8.4.0", Variables: map[string]string{"sync_binlog": "1"}},
			CoLocation: []string{"service", "database"},
		},
		Facts: record.Facts{
			Schema: "assay/facts/v1", T0: T0, Ended: T0.Add(load.Duration() + time.Second), ClockStepMs: new(float64),
			Collectors: []record.Collect{{Source: "database", State: "ok"}, {Source: "service", State: "ok"}, {Source: "host", State: "ok"}},
			Ledger:     record.LedgerFact{State: "ok"},
			Issued:     T0.Add(2 * time.Minute), Attempts: 1,
		},
		Ledger:   persisted(load.Arrivals()),
		Manifest: "sha256:3333333333333333333333333333333333333333333333333333333333333333",
	}}
	for i := range workers {
		source := metric.WorkerSource(i)
		c.Run.Environment.Workers = append(c.Run.Environment.Workers, record.WorkerHost{
			Source: source, Share: load.Workers[i].Share, Local: true, Host: c.Run.Environment.Host,
		})
		c.Run.Facts.Workers = append(c.Run.Facts.Workers, record.Worker{Source: source, Exit: "0"})
		c.Frames = append(c.Frames, workerFrames(p, load, i, system, generator)...)
	}
	c.Frames = append(c.Frames, databaseFrames(load)...)
	return c
}

// Record is the record of the run, with the frames in their order.
func (c *Case) Record() record.Run {
	r := c.Run
	r.Timeline = r.EmptyTimeline()
	for _, f := range c.Frames {
		r.Timeline.Add(f)
	}
	return r
}

// persisted is the ledger of n transactions that were all acknowledged and persisted.
func persisted(n int64) *ledger.Comparison {
	c := &ledger.Comparison{Acknowledged: n, Persisted: n, Lags: map[int64]int64{}}
	for i := range n {
		c.Lags[i*100/n]++ // up to 99 ms
	}
	return c
}
