package diagnose

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
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
	timingOut     float64            // likewise, by their timeout
	refused       float64            // connections per second, from the hold on
	errors        map[string]float64 // errors that the service counts per second, by class, from the hold on
	noService     bool               // the service reports no metrics
	noDatabase    bool               // the database is not sampled
	samples       float64            // per second; 0: 10
	slowSamples   float64            // ms per sample, from the hold on
	starvedWorker bool
	connections   float64 // size of the service's pool of database connections; 0: 20
	inUse         float64 // connections of the pool that are in use
	selects       float64 // ms per call of the most frequent SELECT; 0: no SELECT
	rows          float64 // examined per call
	noBaseline    bool
	seed          uint64
	bank          *bank // a stub that the calls of Downstream go to; nil: none

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
	c.Run.Plan.Profile.Flows[0].SLOs = []spec.SLO{synthetic.Percentile(metric.TransactionDuration, 95, 250), synthetic.Percentile("http_req_duration", 95, 250)}
	if w.failing > 0 {
		c.Run.Plan.Profile.Flows[0].SLOs = append(c.Run.Plan.Profile.Flows[0].SLOs, spec.SLO{Metric: "http_req_failed", Expression: "rate<0.1", Aggregate: spec.Rate, Operator: "<", Bound: 0.1})
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

// oneSecond is one second of a run against the system.
type oneSecond struct {
	system
	rate       float64
	inHold     bool
	now        map[string]float64 // ms per transaction by component, with noise
	total      float64            // sum of now
	statements float64            // the part of total in the database
}

// second is what each source sends for one second.
func (w system) second(rate float64, parts map[string]float64, inHold bool, random *rand.Rand) map[string][]metric.Point {
	s := oneSecond{system: w, rate: rate, inHold: inHold, now: map[string]float64{}}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		s.now[name] = parts[name] * (1 + (w.noise+w.jitter[name])*(2*random.Float64()-1))
		s.total += s.now[name]
	}
	for _, class := range classes(s.now) {
		s.statements += s.now[class]
	}
	all := map[string][]metric.Point{"worker/0": s.workerPoints(), "service": s.servicePoints(), "database": s.databasePoints(), "host": s.hostPoints()}
	if w.bank != nil {
		all[metric.StubSource("bank")] = s.bankPoints()
	}
	return all
}

func counterPoint(name string, v float64, labels ...string) metric.Point {
	return metric.CounterPoint(metric.NewSeries(name, "", labels...), v)
}

// histPoint has n samples of the same value.
func histPoint(name string, ms, n float64) metric.Point {
	h := &metric.Hist{}
	h.Record(ms, uint64(n))
	return metric.HistPoint(metric.NewSeries(name, "ms"), h)
}

// sent is the time from sending a request to its response, in ms.
func (s oneSecond) sent() float64 { return s.total - s.now[Generator] - s.now[Residual] }

func (s oneSecond) workerPoints() []metric.Point {
	rate, lag, failed, timedOut, runQueue := s.rate, s.now[Generator], 0.0, 0.0, 0.0
	if s.inHold {
		failed, timedOut = s.failing*rate, s.timingOut*rate
	}
	if s.inHold && s.starvedWorker {
		runQueue = 3
	}
	points := []metric.Point{
		counterPoint(metric.TransactionsScheduled, rate), counterPoint(metric.Transactions, rate-failed-timedOut, "outcome", metric.Completed),
		counterPoint(metric.Transactions, timedOut, "outcome", metric.TimedOut),
		counterPoint(metric.Transactions, failed, "outcome", metric.Failed),
		histPoint(metric.TransactionDuration, s.total, rate), histPoint(metric.GeneratorLag, lag, rate), histPoint(metric.ArrivalQueueing, 0, rate),
		counterPoint(metric.EndedIterations, rate), counterPoint(metric.EndedIterationTime, rate*(s.total-lag)),
		histPoint("http_req_duration", s.sent(), rate), counterPoint("http_reqs", rate),
		counterPoint(metric.EndedRequests, rate), counterPoint(metric.EndedRequestTime, rate*s.sent()), counterPoint(metric.EndedBlockedTime, 0),
		counterPoint("http_req_failed"+metric.RateTotal, rate), counterPoint("http_req_failed"+metric.RateOccurred, failed),
		counterPoint(metric.WorkerCPU, 0.2), counterPoint(metric.WorkerRunQueue, runQueue),
		metric.GaugePoint(metric.NewSeries(metric.WorkerCPUs, ""), 1),
	}
	if s.now[Residual] > 0 { // neither script nor request: k6 does not report it
		points = slices.DeleteFunc(points, func(p metric.Point) bool { return p.Series.Name == metric.EndedIterationTime })
	}
	return points
}

func (s oneSecond) servicePoints() []metric.Point {
	if s.noService {
		return nil
	}
	rate, now := s.rate, s.now
	points := []metric.Point{
		counterPoint(metric.ServiceRequests, rate), counterPoint(metric.ServiceRequestTime, rate*(s.sent()-now[Network])),
		counterPoint(metric.ServiceAcquireTime, rate*(now[Pool]+now[ConnectionStorm])), counterPoint(metric.ServicePoolWaitTime, rate*now[Pool]),
		counterPoint(metric.ServiceQueryTime, rate*s.statements), counterPoint(metric.ServiceQueries, 10*rate),
		counterPoint(metric.ServiceCPU, s.serviceCPU), metric.GaugePoint(metric.NewSeries(metric.ServiceCPUs, ""), 1),
		metric.GaugePoint(metric.NewSeries(metric.ServicePoolMax, ""), cmp.Or(s.connections, 20)),
		metric.GaugePoint(metric.NewSeries(metric.ServicePoolInUse, ""), s.inUse),
	}
	if s.bank == nil || !s.bank.only {
		points = append(points, counterPoint(metric.ServiceDownstreamTime, rate*now[Downstream]))
	}
	if s.inHold {
		for class, n := range s.errors {
			points = append(points, counterPoint(metric.ErrorsByClass, n, "where", metric.AtService, "class", class))
		}
	}
	return points
}

// bank is a stub.
type bank struct {
	only         bool       // the service itself reports no calls
	calls, queue [2]float64 // calls per transaction, and calls that wait, at the baseline and in the hold
	background   float64    // ms per transaction in calls for which none waits
}

func (s oneSecond) bankPoints() []metric.Point {
	phase := 0
	if s.inHold {
		phase = 1
	}
	charge := []string{"stub", "bank", "endpoint", "charge", "background", "false"}
	return []metric.Point{
		counterPoint(metric.StubCalls, s.rate*s.bank.calls[phase], append(charge, "outcome", metric.StubAnswered)...),
		counterPoint(metric.StubCallTime, s.rate*s.now[Downstream], charge...),
		counterPoint(metric.StubWorkTime, 30, append(charge, "caller", "waiting")...),
		counterPoint(metric.StubWorkTime, 90, append(charge, "caller", "left")...),
		metric.GaugePoint(metric.NewSeries(metric.StubQueue, "", charge...), s.bank.queue[phase]),
		counterPoint(metric.StubCalls, s.rate, "stub", "bank", "endpoint", "inquiry", "background", "true", "outcome", metric.StubAnswered),
		counterPoint(metric.StubCallTime, s.rate*s.bank.background, "stub", "bank", "endpoint", "inquiry", "background", "true"),
	}
}

func (s oneSecond) databasePoints() []metric.Point {
	if s.noDatabase {
		return nil
	}
	samples, sampleMs := cmp.Or(s.samples, 10), 1.0
	if s.inHold && s.slowSamples > 0 {
		sampleMs = s.slowSamples
	}
	points := []metric.Point{
		counterPoint(metric.DBSample, samples),
		histPoint(metric.DBSampleInterval, 1000/samples, samples), histPoint(metric.DBSampleTime, sampleMs, samples),
	}
	for _, class := range classes(s.now) {
		points = append(points, counterPoint(metric.DBSession, s.now[class]/1000*s.rate*samples, "class", class, "event", "event of "+class, "digest", "w"))
	}
	points = append(points, s.statementPoints()...)
	if s.inHold {
		points = append(points, counterPoint(metric.DBCounter, s.refused, "name", "Connection_errors_max_connections"))
		for class, n := range s.blockers {
			points = append(points, counterPoint(metric.DBBlocker, n, "class", class, "event", class))
		}
	}
	return points
}

// statementPoints are one UPDATE per transaction and, if selects is set, two SELECTs.
func (s oneSecond) statementPoints() (points []metric.Point) {
	const update, selected = "UPDATE t SET n = ?", "SELECT a FROM t WHERE id = ?"
	updateMs := s.statements
	if s.selects > 0 {
		points = append(
			points,
			counterPoint(metric.DBStatementTime, s.rate*2*s.selects, "digest", "s", "statement", selected),
			counterPoint(metric.DBStatements, s.rate*2, "digest", "s", "statement", selected),
		)
		updateMs -= 2 * s.selects
	}
	return append(
		points,
		counterPoint(metric.DBStatementTime, s.rate*updateMs, "digest", "w", "statement", update),
		counterPoint(metric.DBStatements, s.rate, "digest", "w", "statement", update),
		counterPoint(metric.DBRowsExamined, s.rate*s.rows, "digest", "w", "statement", update),
		counterPoint(metric.DBCounter, 3*s.rate, "name", "events_transactions"),
	)
}

func (s oneSecond) hostPoints() []metric.Point {
	points := []metric.Point{histPoint(metric.NetworkRoundTrip, s.now[Network], 1)}
	points[0].Series = metric.NewSeries(metric.NetworkRoundTrip, "ms", "path", "service")
	if s.cpu == 0 {
		return points
	}
	queue := 0.1
	if s.inHold {
		queue = s.queue
	}
	return append(
		points,
		counterPoint(metric.ProcessCPU, s.cpu, "process", "database"), counterPoint(metric.ProcessRunQueue, queue, "process", "database"),
		metric.GaugePoint(metric.NewSeries(metric.ProcessCPUs, "", "process", "database"), 2),
		counterPoint(metric.ProcessCPUIdle, s.idle, "process", "database"),
	)
}
