package diagnose

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"assay/harness/judge/internal/synthetic"
	"assay/harness/judge/verdict"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// system is a simulated system with a test's choice of the time per transaction in each
// component.
type system struct {
	base, hold map[string]float64 // ms per transaction by component; database time by wait class
	late       map[string]float64 // additional ms in the second half of the hold
	noise      float64            // share by which the times vary from second to second
	jitter     map[string]float64 // additional noise by component

	idle          float64            // idle CPUs of the database's two
	cpu, queue    float64            // seconds per second that the database's threads run, and wait in the run queue
	serviceCPU    float64            // CPUs used of the service's one
	blockers      map[string]float64 // holders of row locks per second, by wait class
	failing       float64            // share of transactions that fail, from the hold on
	refused       float64            // connections per second, from the hold on
	noService     bool               // the service reports no metrics
	noDatabase    bool               // the database is not sampled
	samples       float64            // per second; 0: 10
	slowSamples   float64            // ms per sample, from the hold on
	starvedWorker bool
	connections   float64 // of the service to its database; 0: 20
	selects       float64 // ms per call of the most frequent SELECT; 0: no SELECT
	rows          float64 // examined per call
	noBaseline    bool
	seed          uint64

	// frames changes what a source sends; second counts from the start of the judged window.
	frames func(second int64, source string, points []metric.Point) []metric.Point
	change func(r *record.Run)
}

// classes are the parts that are wait classes.
func classes(parts map[string]float64) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		switch name {
		case Generator, Network, Service, Downstream, Pool, ConnectionStorm, Residual:
		default:
			all = append(all, name)
		}
	}
	return all
}

// diagnosed judges and diagnoses a run against the system.
func (w system) diagnosed() Findings {
	r := w.record()
	return Of(r, verdict.Judge(r))
}

// synthesized is the synthetic run whose frames a system replaces.
var synthesized = sync.OnceValue(func() *synthetic.Case { return synthetic.New(synthetic.Profile(), 1, synthetic.Healthy) })

// plain is a copy of synthesized that a test may change.
func plain() *synthetic.Case {
	c := *synthesized()
	c.Frames = slices.Clone(c.Frames)
	for i, f := range c.Frames {
		c.Frames[i].Points = slices.Clone(f.Points)
	}
	c.Run.Plan.Load.Judged = slices.Clone(c.Run.Plan.Load.Judged)
	ledger := *c.Run.Ledger
	c.Run.Ledger = &ledger
	return &c
}

func (w system) record() record.Run {
	c := plain()
	load := c.Run.Plan.Load
	c.Run.Plan.Profile.SLOs = []spec.SLO{synthetic.Percentile(metric.TransactionDuration, 95, 250), synthetic.Percentile("http_req_duration", 95, 250)}
	if w.failing > 0 {
		c.Run.Plan.Profile.SLOs = append(c.Run.Plan.Profile.SLOs, spec.SLO{Metric: "http_req_failed", Expression: "rate<0.1", Aggregate: spec.Rate, Operator: "<", Bound: 0.1})
	}
	if w.noBaseline {
		c.Run.Plan.Load.Baseline = nil
	}
	random := rand.New(rand.NewPCG(w.seed, 7))
	closing := c.Frames[len(c.Frames)-1]
	for _, f := range c.Frames {
		if f.Source == "worker/0" && f.Closing {
			closing = f
		}
	}
	c.Frames = nil
	sequence := uint64(0)
	for second := range int64(load.Duration() / time.Second) {
		rate, parts := 5.0, w.base
		if time.Duration(second)*time.Second >= load.Judged[0].Start {
			rate, parts = 20, w.hold
			if time.Duration(second)*time.Second >= (load.Judged[0].Start+load.Judged[0].End)/2 {
				parts = with(w.hold, w.late)
			}
		}
		sequence++
		for source, points := range w.second(rate, parts, rate == 20, random) {
			if w.frames != nil {
				points = w.frames(second-int64(load.Judged[0].Start/time.Second), source, points)
			}
			c.Frames = append(c.Frames, metric.Frame{Source: source, Sequence: sequence, Second: synthetic.T0.Unix() + second, Points: points})
		}
	}
	closing.Sequence = sequence + 1
	for i, p := range closing.Points {
		if p.Series.Name == metric.WorkerFrames {
			closing.Points[i].Value = float64(sequence)
		}
	}
	slices.SortStableFunc(c.Frames, func(a, b metric.Frame) int { return int(a.Second - b.Second) })
	c.Frames = append(c.Frames, closing)
	if w.change != nil {
		w.change(&c.Run)
	}
	return c.Record()
}

// second is what each source sends for one second.
func (w system) second(rate float64, parts map[string]float64, held bool, random *rand.Rand) map[string][]metric.Point {
	now := map[string]float64{}
	total, statements := 0.0, 0.0
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		now[name] = parts[name] * (1 + (w.noise+w.jitter[name])*(2*random.Float64()-1))
		total += now[name]
	}
	for _, class := range classes(now) {
		statements += now[class]
	}
	var worker, service, database, host []metric.Point
	hist := func(name string, ms float64) metric.Point {
		h := &metric.Hist{}
		h.Record(ms, uint64(rate))
		return metric.HistPoint(metric.NewSeries(name, "ms"), h)
	}
	counter := func(name string, v float64, labels ...string) metric.Point {
		return metric.CounterPoint(metric.NewSeries(name, "", labels...), v)
	}
	failed := 0.0
	if held {
		failed = w.failing * rate
	}
	lag, seen := now[Generator], total-now[Generator]-now[Residual]
	worker = append(
		worker,
		counter(metric.TransactionsScheduled, rate), counter(metric.Transactions, rate-failed, "outcome", metric.Completed),
		counter(metric.Transactions, failed, "outcome", metric.Failed),
		hist(metric.TransactionDuration, total), hist(metric.GeneratorLag, lag), hist(metric.ArrivalQueueing, 0),
		counter(metric.EndedIterations, rate), counter(metric.EndedIterationTime, rate*(total-lag)),
		hist("http_req_duration", seen), counter("http_reqs", rate),
		counter(metric.EndedRequests, rate), counter(metric.EndedRequestTime, rate*seen), counter(metric.EndedBlockedTime, 0),
		counter("http_req_failed"+metric.RateTotal, rate), counter("http_req_failed"+metric.RateOccurred, failed),
		counter(metric.WorkerCPU, 0.2), counter(metric.WorkerRunQueue, map[bool]float64{true: 3}[w.starvedWorker && held]),
		metric.GaugePoint(metric.NewSeries(metric.WorkerCPUs, ""), 1),
	)
	if now[Residual] > 0 { // neither script nor request: k6 does not report it
		worker = slices.DeleteFunc(worker, func(p metric.Point) bool { return p.Series.Name == metric.EndedIterationTime })
	}
	handled := seen - now[Network]
	connections := w.connections
	if connections == 0 {
		connections = 20
	}
	if !w.noService {
		service = append(
			service,
			counter(metric.ServiceRequests, rate), counter(metric.ServiceRequestTime, rate*handled),
			counter(metric.ServiceAcquireTime, rate*(now[Pool]+now[ConnectionStorm])), counter(metric.ServicePoolWaitTime, rate*now[Pool]),
			counter(metric.ServiceQueryTime, rate*statements), counter(metric.ServiceQueries, 10*rate),
			counter(metric.ServiceDownstreamTime, rate*now[Downstream]),
			counter(metric.ServiceCPU, w.serviceCPU), metric.GaugePoint(metric.NewSeries(metric.ServiceCPUs, ""), 1),
			metric.GaugePoint(metric.NewSeries(metric.ServicePoolMax, ""), connections),
		)
	}
	if !w.noDatabase {
		samples := w.samples
		if samples == 0 {
			samples = 10
		}
		interval := &metric.Hist{}
		interval.Record(1000/samples, uint64(samples))
		took := &metric.Hist{}
		if took.Record(1, uint64(samples)); held && w.slowSamples > 0 {
			took.Reset()
			took.Record(w.slowSamples, uint64(samples))
		}
		database = append(database, counter(metric.DBSample, samples),
			metric.HistPoint(metric.NewSeries(metric.DBSampleInterval, "ms"), interval), metric.HistPoint(metric.NewSeries(metric.DBSampleTime, "ms"), took))
		for _, class := range classes(now) {
			database = append(database, counter(metric.DBSession, now[class]/1000*rate*samples, "class", class, "event", "event of "+class, "digest", "w"))
		}
		text := "UPDATE t SET n = ?"
		writes := statements
		if w.selects > 0 {
			database = append(
				database,
				counter(metric.DBStatementTime, rate*2*w.selects, "digest", "s", "statement", "SELECT a FROM t WHERE id = ?"),
				counter(metric.DBStatements, rate*2, "digest", "s", "statement", "SELECT a FROM t WHERE id = ?"),
			)
			writes -= 2 * w.selects
		}
		database = append(
			database,
			counter(metric.DBStatementTime, rate*writes, "digest", "w", "statement", text),
			counter(metric.DBStatements, rate, "digest", "w", "statement", text),
			counter(metric.DBRowsExamined, rate*w.rows, "digest", "w", "statement", text),
			counter(metric.DBCounter, 3*rate, "name", "events_transactions"),
		)
		if held {
			database = append(database, counter(metric.DBCounter, w.refused, "name", "Connection_errors_max_connections"))
			for class, n := range w.blockers {
				database = append(database, counter(metric.DBBlocker, n, "class", class, "event", class))
			}
		}
	}
	if w.cpu > 0 {
		queue := 0.1
		if held {
			queue = w.queue
		}
		host = append(
			host,
			counter(metric.ProcessCPU, w.cpu, "process", "database"), counter(metric.ProcessRunQueue, queue, "process", "database"),
			metric.GaugePoint(metric.NewSeries(metric.ProcessCPUs, "", "process", "database"), 2),
			counter(metric.ProcessCPUIdle, w.idle, "process", "database"),
		)
	}
	return map[string][]metric.Point{"worker/0": worker, "service": service, "database": database, "host": host}
}

func (w system) String() string { return fmt.Sprintf("%+v", struct{ base, hold any }{w.base, w.hold}) }
