package longrun

import (
	"errors"
	"fmt"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// Shape is the size of the run.
type Shape struct {
	Workers int
	Hold    time.Duration // the judged window; the other stages take a minute
	Rate    float64       // requests per second of the whole fleet
	Small   bool          // about 60 series from each worker, as from the scenario of payments; else about 100
	Remote  bool          // the workers run on other hosts
}

// seed of the plan and of the latencies.
const seed = 1

var t0 = time.Date(2026, time.November, 27, 8, 0, 0, 0, time.UTC)

// otherStages is the length of all stages except the hold.
const otherStages = time.Minute

// Seconds is the length of the whole run.
func (s Shape) Seconds() int64 { return int64((s.Hold + otherStages) / time.Second) }

// scope is the scope of a run of this length.
func (s Shape) scope() string {
	if s.Hold < 10*time.Minute {
		return spec.ScopeSmoke
	}
	return spec.ScopeCertificate
}

// Profile is the profile of the run.
func (s Shape) Profile() spec.Profile {
	shown := []float64{95, 99, 99.9}
	if s.Small {
		shown = shown[:1]
	}
	percentiles := func(name string, bounds map[float64]float64, selector ...metric.Label) (all []spec.SLO) {
		for _, p := range shown {
			all = append(all, spec.SLO{
				Metric: name, Selector: selector, Expression: fmt.Sprintf("p(%g)<%g", p, bounds[p]),
				Aggregate: spec.Percentile, Quantile: p / 100, Operator: "<", Bound: bounds[p],
			})
		}
		return all
	}
	bounds := map[float64]float64{95: 250, 99: 1000, 99.9: 4000}
	p := spec.Profile{
		Name: "event", Flows: []spec.Flow{{Scenario: "scenarios/large-event.js", Timeout: 10 * time.Second, Load: spec.Load{
			Unit: "rps", Target: s.Rate, Warmup: 10 * time.Second,
			Baseline: spec.Baseline{Rate: s.Rate / 4, For: 30 * time.Second},
			Ramp:     15 * time.Second, Hold: s.Hold, Cooldown: otherStages - 55*time.Second,
		}, SLOs: percentiles(metric.TransactionDuration, bounds)}},
	}
	for _, e := range endpoints[:2] {
		p.Flows[0].SLOs = append(p.Flows[0].SLOs, percentiles(metric.RequestDuration, bounds, metric.Label{Key: "name", Value: e.name})...)
	}
	p.Flows[0].SLOs = append(p.Flows[0].SLOs, spec.SLO{
		Metric: metric.RequestFailed, Expression: "rate<0.01", Aggregate: spec.Rate, Operator: "<", Bound: 0.01,
	})
	return p
}

// endpoints are those that a transaction may call.
func (s Shape) endpoints() []endpoint {
	if s.Small {
		return endpoints[:2]
	}
	return endpoints
}

// Write writes the record to a new folder.
func (s Shape) Write(dir string) (err error) {
	p := s.Profile()
	load, err := plan.New(p, s.Workers, seed)
	if err != nil {
		return err
	}
	run := record.Plan{
		Schema: "assay/plan/v1", Run: "20261127T080000Z-event-0000", Profile: p, Load: load,
		Target: "http://127.0.0.1:8080", Database: "assay@tcp(127.0.0.1:3306)/assay",
		Scripts: []record.Digest{{Path: p.Flows[0].Scenario, SHA256: "sha256:22"}},
		Scope:   s.scope(),
		Tool:    record.Tool{Version: "v0.0.0", Revision: "longrun", Go: "go1.26", K6: "v1.8.1"},
	}
	w, err := record.Create(dir, run)
	if err != nil {
		return err
	}
	if err := s.writeFrames(w, load); err != nil {
		return errors.Join(err, w.Discard())
	}
	facts := record.Facts{
		Schema: "assay/facts/v1", T0: t0, Ended: t0.Add(load.Duration() + 2*time.Second), ClockStepMs: new(float64),
		Ledger: record.LedgerFact{State: record.StateAbsent, Reason: "the profile has none"},
		Issued: t0.Add(load.Duration() + time.Minute), Attempts: 1,
	}
	for i := range s.Workers {
		facts.Workers = append(facts.Workers, record.Worker{Source: metric.WorkerSource(i), Exit: "0"})
	}
	for _, c := range []string{"database", "service", "host"} {
		facts.Collectors = append(facts.Collectors, record.Collect{Source: c, State: record.StateOK})
	}
	environment := record.Environment{
		Schema:   "assay/environment/v1",
		Host:     record.Host{Name: "generator", OS: "linux", CPU: "none", CPUs: 16, Memory: 1 << 36},
		Database: &record.Database{Flavour: "mysql", Version: "8.4.0", Variables: map[string]string{"sync_binlog": "1"}},
	}
	return errors.Join(w.Environment(environment), w.Seal(facts))
}

// writeFrames writes the frames second by second, in the order of arrival.
func (s Shape) writeFrames(w *record.Writer, load plan.Plan) error {
	var workers []*Worker
	for i := range s.Workers {
		workers = append(workers, s.NewWorker(i))
	}
	collectors := newCollectors(s)
	last := t0.Unix()
	for i, scheduled := range synthetic.Arrivals(load) {
		second := t0.Unix() + int64(i)
		last = second + 1
		var frames []metric.Frame
		for n, worker := range workers {
			frames = append(frames, worker.Second(second, Share(scheduled, n, s.Workers))...)
		}
		frames = append(frames, collectors.second(second, float64(scheduled))...)
		if err := write(w, frames); err != nil {
			return err
		}
	}
	var frames []metric.Frame
	for _, worker := range workers {
		frames = append(frames, worker.Close(last)...)
	}
	return write(w, append(frames, collectors.close(last)...))
}

func write(w *record.Writer, frames []metric.Frame) error {
	for _, f := range frames {
		if err := w.Frame(f); err != nil {
			return err
		}
	}
	return nil
}

// Share is the part of worker i of some arrivals.
func Share(arrivals int64, i, workers int) int64 {
	share := arrivals / int64(workers)
	if int64(i) < arrivals%int64(workers) {
		share++
	}
	return share
}
