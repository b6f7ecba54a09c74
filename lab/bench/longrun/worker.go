package longrun

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

const (
	scenario = "event"

	// lateShare is the share of a second's transactions that end after its frame was sent.
	lateShare = 0.02
	// failShare is the share of requests that fail.
	failShare = 0.0005
)

// endpoint is the requests of one name.
type endpoint struct {
	name     string
	share    float64 // share of the requests
	duration spread
}

func answers(median float64) spread {
	return spread{lognormal{0.985, median, 0.5}, lognormal{0.015, 6 * median, 0.6}}
}

var endpoints = []endpoint{
	{"authorise", 0.4, answers(12)},
	{"capture", 0.3, answers(30)},
	{"status", 0.2, answers(4)},
	{"events", 0.1, answers(8)},
}

// parts are what the duration of a request consists of.
var parts = []string{metric.RequestWaiting, metric.RequestSending, metric.RequestReceiving}

var (
	sending   = spread{lognormal{1, 0.02, 0.5}}
	receiving = spread{lognormal{1, 0.06, 0.7}}
)

// connections are the other trend metrics of a request.
var connections = []struct {
	name   string
	spread spread
}{
	{metric.RequestBlocked, spread{lognormal{0.999, 0.004, 0.5}, lognormal{0.001, 0.4, 0.7}}},
	{metric.RequestConnecting, spread{lognormal{0.001, 0.3, 0.6}}},
	{metric.RequestTLS, spread{}},
}

var (
	transactions = spread{
		lognormal{0.394, 12, 0.5},
		lognormal{0.2955, 30, 0.5},
		lognormal{0.197, 4, 0.5},
		lognormal{0.0985, 8, 0.5},
		lognormal{0.015, 100, 0.7},
	}
	lag      = spread{lognormal{1, 0.03, 0.8}}
	queueing = spread{lognormal{0.05, 0.3, 1}}
)

// Worker makes the frames of one worker.
type Worker struct {
	stream
	slos      []spec.SLO
	endpoints []endpoint
	random    *rand.Rand
	totals    map[string]float64 // samples, by metric
}

// NewWorker makes worker i of a run of the shape.
func (s Shape) NewWorker(i int) *Worker {
	return &Worker{
		stream: stream{source: metric.WorkerSource(i)}, slos: s.Profile().Flows[0].SLOs, endpoints: s.endpoints(),
		random: rand.New(rand.NewPCG(seed, uint64(i))), totals: map[string]float64{},
	}
}

// Second returns the worker's frames of a second in which n transactions were scheduled:
// one of those that ended, one of those that end late if there are any, and one about the
// worker itself.
func (w *Worker) Second(second, n int64) []metric.Frame {
	late := some(w.random, lateShare, n)
	ended := w.transactions(n, n-late)
	frames := []metric.Frame{w.frame(second, append(ended, w.requests(n)...))}
	if late > 0 {
		frames = append(frames, w.frame(second, w.transactions(0, late)))
	}
	return append(frames, w.frame(second, []metric.Point{
		metric.CounterPoint(metric.Of(metric.WorkerCPU), 0.5+0.1*w.random.Float64()),
		metric.GaugePoint(metric.Of(metric.WorkerCPUs), 2),
		metric.CounterPoint(metric.Of(metric.WorkerRunQueue), 0.01*w.random.Float64()),
		metric.GaugePoint(metric.Of(metric.WorkerMemory), 3e8),
		metric.CounterPoint(metric.Of(metric.WorkerHostCPU, "mode", "steal"), 0),
		metric.CounterPoint(metric.Of(metric.WorkerHostCPU, "mode", "idle"), 1),
		metric.CounterPoint(metric.Of(metric.WorkerHostCPU, "mode", "other"), 1),
		metric.GaugePoint(metric.Of(metric.WorkerClockOffset), 1+0.1*w.random.NormFloat64()),
		metric.GaugePoint(metric.Of(metric.WorkerClockDrift), 0.1*w.random.NormFloat64()),
		metric.GaugePoint(metric.Of(metric.WorkerRoundTrip), 0.3+0.1*w.random.ExpFloat64()),
	}))
}

// transactions returns the metrics of n ended transactions.
func (w *Worker) transactions(scheduled, n int64) (points []metric.Point) {
	hist := func(name string, s spread, bounds ...float64) []int64 {
		h := &metric.Hist{}
		reach := s.draw(w.random, n, h, bounds...)
		points = append(points, metric.HistPoint(metric.Of(name, "scenario", scenario), h))
		w.totals[name] += float64(n)
		return reach
	}
	count := func(name string, v int64, labels ...string) {
		points = append(points, metric.CounterPoint(metric.Of(name, labels...), float64(v)))
	}
	slos, bounds := w.decidedBy(metric.TransactionDuration, "")
	failed := some(w.random, failShare, n)
	reach := hist(metric.TransactionDuration, transactions, bounds...)
	points = append(points, metric.HistPoint(metric.Of(metric.IterationDuration, "scenario", scenario), points[0].Hist)) // which began at once
	w.totals[metric.IterationDuration] += float64(n)
	count("iterations", n, "scenario", scenario)
	hist(metric.GeneratorLag, lag)
	hist(metric.ArrivalQueueing, queueing)
	for i, s := range slos {
		points = append(points, judged(s, n, min(n, reach[i]+failed))...)
	}
	if scheduled > 0 {
		count(metric.TransactionsScheduled, scheduled, "scenario", scenario)
	}
	count(metric.Transactions, n-failed, "outcome", metric.Completed, "scenario", scenario)
	if failed > 0 {
		count(metric.Transactions, failed, "outcome", metric.Failed, "scenario", scenario)
	}
	w.totals[metric.Transactions] += float64(n)
	return points
}

// judged counts the samples of an SLO and its violations, none of which the generator
// caused.
func judged(s spec.SLO, samples, violations int64) []metric.Point {
	return []metric.Point{
		metric.CounterPoint(metric.Of(metric.Judged, "slo", s.ID()), float64(samples)),
		metric.CounterPoint(metric.Of(metric.Violations, "slo", s.ID()), float64(violations)),
		metric.CounterPoint(metric.Of(metric.ViolationsCleared, "slo", s.ID()), float64(violations)),
	}
}

// decidedBy lists the SLOs of a metric and name, with their bounds.
func (w *Worker) decidedBy(name, endpoint string) (slos []spec.SLO, bounds []float64) {
	for _, s := range w.slos {
		if s.Metric == name && (len(s.Selector) == 0 || s.Selector[0].Value == endpoint) {
			slos, bounds = append(slos, s), append(bounds, s.Bound)
		}
	}
	return slos, bounds
}

// requests returns k6's metrics of n requests, one per transaction.
func (w *Worker) requests(n int64) (points []metric.Point) {
	counter := func(name string, v float64, labels ...string) {
		points = append(points, metric.CounterPoint(metric.Of(name, append(labels, "scenario", scenario)...), v))
	}
	rate := func(name string, occurred, total int64, labels ...string) {
		labels = append(labels, "scenario", scenario)
		points = append(points,
			metric.CounterPoint(metric.NewSeries(name+metric.RateTotal, "", labels...), float64(total)),
			metric.CounterPoint(metric.NewSeries(name+metric.RateOccurred, "", labels...), float64(occurred)))
		w.totals[name+metric.RateTotal] += float64(total)
	}
	hist := func(name string, s spread, n int64, labels ...string) {
		h := &metric.Hist{}
		s.draw(w.random, n, h)
		points = append(points, metric.HistPoint(metric.Of(name, append(labels, "scenario", scenario)...), h))
		w.totals[name] += float64(n)
	}
	left, failures := n, int64(0)
	for i, e := range w.endpoints {
		asked := min(left, int64(e.share*float64(n)))
		if i == len(w.endpoints)-1 {
			asked = left
		}
		left -= asked
		failed := some(w.random, failShare, asked)
		failures += failed
		slos, bounds := w.decidedBy(metric.RequestDuration, e.name)
		durations, reach := &metric.Hist{}, make([]int64, len(bounds))
		of := []*metric.Hist{{}, {}, {}}
		for range asked {
			took := 0.0
			for i, s := range []spread{e.duration, sending, receiving} {
				v := s.one(w.random)
				of[i].Record(v, 1)
				took += v
			}
			durations.Record(took, 1)
			for i, bound := range bounds {
				if took >= bound {
					reach[i]++
				}
			}
		}
		for i, name := range append([]string{metric.RequestDuration}, parts...) {
			h := append([]*metric.Hist{durations}, of...)[i]
			points = append(points, metric.HistPoint(metric.Of(name, "name", e.name, "scenario", scenario), h))
			w.totals[name] += float64(asked)
		}
		for i, s := range slos {
			points = append(points, judged(s, asked, min(asked, reach[i]+failed))...)
		}
		for _, p := range connections {
			hist(p.name, p.spread, asked, "name", e.name)
		}
		counter(metric.Requests, float64(asked-failed), "name", e.name, "method", "POST", "status", "200")
		if failed > 0 {
			counter(metric.Requests, float64(failed), "name", e.name, "method", "POST", "status", "500", "error_code", "1500")
		}
		rate(metric.RequestFailed, failed, asked, "name", e.name)
		rate(metric.Checks, asked-failed, asked, "name", e.name, "check", "answered")
	}
	for _, s := range w.slos {
		if s.Metric == metric.RequestFailed {
			points = append(points, judged(s, n, failures)...)
		}
	}
	counter(metric.DataSent, float64(400*n))
	counter(metric.DataReceived, float64(900*n))
	return append(points,
		metric.CounterPoint(metric.Of(metric.EndedIterations), float64(n)),
		metric.CounterPoint(metric.Of(metric.EndedRequests), float64(n)),
		metric.CounterPoint(metric.Of(metric.EndedIterationTime), 25*float64(n)),
		metric.CounterPoint(metric.Of(metric.EndedRequestTime), 24*float64(n)),
		metric.CounterPoint(metric.Of(metric.EndedBlockedTime), 0.004*float64(n)),
		metric.GaugePoint(metric.Of("vus"), 500), metric.GaugePoint(metric.Of("vus_max"), 500))
}

// Close returns the last frame, with the totals.
func (w *Worker) Close(second int64) []metric.Frame {
	points := []metric.Point{
		metric.CounterPoint(metric.Of(metric.WorkerSeed, "seed", strconv.Itoa(seed)), 1),
		metric.GaugePoint(metric.Of(metric.WorkerStartDelay), 0.1),
	}
	for _, name := range slices.Sorted(maps.Keys(w.totals)) {
		points = append(points, metric.CounterPoint(metric.Of(metric.WorkerSamples, "metric", name), w.totals[name]))
	}
	return w.close(second, points...)
}
