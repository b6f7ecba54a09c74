package record

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// Contradiction is why a frame cannot have been measured, or why the frames of a source
// cannot all have been.
type Contradiction struct {
	Source string
	What   string
}

// maxContradictions bounds those that are kept: one of each of as many sources.
const maxContradictions = 100

// Checker finds frames that contradict themselves, each other, or the plan of their run, as
// they arrive and when a record is opened. A frame holds what a worker has taken out of its
// second at once, with all that one transaction or request adds to it, so that the counts
// of each frame by itself must agree; what is late is in a further frame for its second.
//
// A worker that tells the same lie in each of its counts is not found.
//
// Frame must not be called concurrently; Start may be called beside it.
type Checker struct {
	t0    atomic.Int64        // unix s; 0: the load has not started
	flows map[string]flowPlan // by scenario; of a plan without flows the only one, without its name
	slos  []sampledSLO
	byID  map[string]int
	on    map[string][]int // SLOs by the name of their metric
	pairs [][2]int         // SLOs of which the first has the lower bound on the same samples

	closed map[string]bool
	due    map[slot]float64 // transactions that were scheduled, less those that have ended

	// Of one frame.
	transactions map[string]*transactionSums
	counts       []sloSums
	rates        map[string]float64 // samples of a rate's series, less those that were not 0
	key          []byte
}

// flowPlan is what the transactions of a flow keep to.
type flowPlan struct {
	length         time.Duration
	displacedAfter float64 // ms
}

// sampledSLO is an SLO whose samples workers count.
type sampledSLO struct {
	spec.SLO
	id string
}

// slot is one second of a worker's schedule.
type slot struct {
	source, scenario string
	second           int64
}

// transactionSums are what a frame says of the transactions of one scenario.
type transactionSums struct {
	durations, lags, queueings    float64
	scheduled, ended, notDone     float64
	completed, dropped            float64
	displaced, late, lost, undone float64
}

// sloSums are what a frame says of an SLO: its counters; and the samples of its metric, with
// how many of them violate it for certain and at most, by their values. Whether those of the
// overflow series are samples of the SLO is not known.
type sloSums struct {
	judged, violated, cleared  float64
	samples, certain, possible float64
	unlabelled, unlabelledOver float64
}

// NewChecker makes a checker for the frames of a run.
func NewChecker(p Plan) *Checker {
	c := &Checker{
		flows: map[string]flowPlan{}, byID: map[string]int{}, on: map[string][]int{},
		closed: map[string]bool{}, due: map[slot]float64{}, transactions: map[string]*transactionSums{}, rates: map[string]float64{},
	}
	plans := p.Load.PerFlow()
	for i, of := range p.Profile.PerFlow() {
		if i < len(plans) {
			c.flows[of.Flow] = flowPlan{plans[i].Duration(), milliseconds(plans[i].DisplacedAfter)}
		}
		for _, s := range of.SLOs {
			if s.Sampled() {
				c.add(s)
			}
		}
	}
	c.counts = make([]sloSums, len(c.slos))
	return c
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (c *Checker) add(s spec.SLO) {
	n := len(c.slos)
	for i, other := range c.slos {
		same := s.Flow == other.Flow && s.MetricText() == other.MetricText() && s.Aggregate != spec.Rate && other.Aggregate != spec.Rate
		switch {
		case same && s.LeastViolating() < other.LeastViolating():
			c.pairs = append(c.pairs, [2]int{n, i})
		case same:
			c.pairs = append(c.pairs, [2]int{i, n})
		}
	}
	id := s.ID()
	c.slos, c.byID[id], c.on[s.Metric] = append(c.slos, sampledSLO{s, id}), n, append(c.on[s.Metric], n)
}

// Start says when the load has started, which each frame of a transaction comes after.
func (c *Checker) Start(t0 time.Time) { c.t0.Store(t0.Unix()) }

// Frame says why a frame cannot have been measured; nil: nothing is known against it.
func (c *Checker) Frame(f metric.Frame) error {
	err := f.Check()
	if err == nil {
		err = c.inTime(f)
	}
	if err != nil || !metric.IsWorker(f.Source) {
		return err
	}
	switch {
	case c.closed[f.Source]:
		return fmt.Errorf("it has reported after its end")
	case f.Closing:
		c.closed[f.Source] = true
		return nil
	}
	c.read(f)
	for _, scenario := range slices.Sorted(maps.Keys(c.transactions)) {
		if err := c.transactions[scenario].check(); err != nil {
			return c.at(f.Second, scenario, err)
		}
	}
	for i := range c.slos {
		if err := c.checkSLO(i); err != nil {
			return c.at(f.Second, "", fmt.Errorf("%s %w", c.slos[i].id, err))
		}
	}
	for _, p := range c.pairs {
		if low, high := c.counts[p[0]], c.counts[p[1]]; low.violated < high.violated {
			return c.at(f.Second, "", fmt.Errorf("%g samples violate %s, and %g violate %s", high.violated, c.slos[p[1]].id, low.violated, c.slos[p[0]].id))
		}
	}
	negative := ""
	for key, zeros := range c.rates {
		if zeros < 0 && (negative == "" || key < negative) {
			negative = key
		}
	}
	if negative != "" {
		return c.at(f.Second, "", fmt.Errorf("%s occurred %g times more than it has samples", negative, -c.rates[negative]))
	}
	c.account(f)
	return nil
}

// at adds to an error which second it is about, and which scenario.
func (c *Checker) at(second int64, scenario string, err error) error {
	if scenario != "" && len(c.flows) > 1 {
		err = fmt.Errorf("%s: %w", scenario, err)
	}
	if t0 := c.t0.Load(); t0 != 0 {
		return fmt.Errorf("second %d of the load: %w", second-t0, err)
	}
	return err
}

// inTime checks that a frame's transactions belong to the schedule.
func (c *Checker) inTime(f metric.Frame) error {
	t0 := c.t0.Load()
	if t0 == 0 {
		return nil
	}
	if !metric.IsWorker(f.Source) || f.Closing {
		return nil
	}
	for _, p := range f.Points {
		switch p.Series.Name {
		case metric.TransactionDuration, metric.Transactions, metric.TransactionsScheduled, metric.GeneratorLag:
		default:
			continue
		}
		of, known := c.flowOf(p.Series)
		at := f.Second - t0
		switch {
		case !known:
			return fmt.Errorf("%s is of no flow of the run", p.Series.Key())
		case at < 0 || time.Duration(at)*time.Second >= of.length:
			return fmt.Errorf("%s in second %d of a load of %s", p.Series.Name, at, of.length)
		}
	}
	return nil
}

// flowOf is the plan of the flow that a series of transactions is of.
func (c *Checker) flowOf(s metric.Series) (flowPlan, bool) {
	if of, single := c.flows[""]; single {
		return of, true
	}
	of, known := c.flows[s.Label("scenario")]
	return of, known
}

// read sums up the points of a frame.
func (c *Checker) read(f metric.Frame) {
	clear(c.transactions)
	clear(c.counts)
	clear(c.rates)
	failures := 0.0
	for _, p := range f.Points {
		name := p.Series.Name
		if p.Kind == metric.Counter {
			switch name {
			case metric.Judged, metric.Violations, metric.ViolationsCleared:
				c.countSLO(p)
				continue
			case metric.RequestFailed + metric.RateOccurred:
				failures += p.Value
			}
			if of, ok := strings.CutSuffix(name, metric.RateTotal); ok {
				c.addRate(of, p, p.Value)
			} else if of, ok := strings.CutSuffix(name, metric.RateOccurred); ok {
				c.addRate(of, p, -p.Value)
			}
		}
		if p.Kind == metric.Histogram {
			for _, i := range c.on[name] {
				s := c.slos[i]
				certain, possible := p.Hist.AtLeast(s.LeastViolating())
				if highest, ok := p.Hist.Max(); ok && highest >= s.LeastViolating() {
					certain = max(certain, 1)
				}
				c.addSamples(i, p.Series, float64(p.Hist.Count()), float64(certain), float64(possible))
			}
		}
		c.addTransactions(p)
	}
	for i, s := range c.slos {
		sums := &c.counts[i]
		switch {
		case s.OfTransactions():
			for scenario, t := range c.transactions {
				if s.Flow == "" || s.Flow == scenario {
					sums.certain, sums.possible = max(sums.certain, t.notDone), sums.possible+t.notDone
				}
			}
		case strings.HasPrefix(s.Metric, "http_req_") && s.Aggregate != spec.Rate:
			sums.possible += failures // which violate it whatever they took
		}
	}
}

// countSLO reads a counter of an SLO. Those of other SLOs are ignored, as by the verdict.
func (c *Checker) countSLO(p metric.Point) {
	i, known := c.byID[p.Series.Label("slo")]
	if !known {
		return
	}
	switch sums := &c.counts[i]; p.Series.Name {
	case metric.Judged:
		sums.judged += p.Value
	case metric.Violations:
		sums.violated += p.Value
	case metric.ViolationsCleared:
		sums.cleared += p.Value
	}
}

// addSamples adds the samples of a series to an SLO on their metric, if it judges them.
func (c *Checker) addSamples(i int, s metric.Series, n, certain, possible float64) {
	slo, sums := c.slos[i], &c.counts[i]
	switch {
	case s.Label(metric.OverflowLabel) != "":
		sums.unlabelled, sums.unlabelledOver = sums.unlabelled+n, sums.unlabelledOver+possible
	case slo.Flow != "" && s.Label("scenario") != slo.Flow, !s.Matches(slo.Selector):
	default:
		sums.samples, sums.certain, sums.possible = sums.samples+n, sums.certain+certain, sums.possible+possible
	}
}

// addRate adds the samples of a rate, or with a negative number those that were not 0.
func (c *Checker) addRate(of string, p metric.Point, n float64) {
	c.key = metric.Series{Name: of, Labels: p.Series.Labels}.AppendKey(c.key[:0])
	c.rates[string(c.key)] += n
	for _, i := range c.on[of] {
		switch atLeast := c.slos[i].AtLeast(); {
		case n >= 0 && atLeast: // all of them violate it, but for those that were not 0
			c.addSamples(i, p.Series, n, n, n)
		case n >= 0:
			c.addSamples(i, p.Series, n, 0, 0)
		case atLeast:
			c.addSamples(i, p.Series, 0, n, n)
		default:
			c.addSamples(i, p.Series, 0, -n, -n)
		}
	}
}

// addTransactions adds a point on the transactions of a scenario.
func (c *Checker) addTransactions(p metric.Point) {
	switch p.Series.Name {
	case metric.TransactionDuration, metric.GeneratorLag, metric.ArrivalQueueing, metric.TransactionsScheduled, metric.Transactions,
		metric.GeneratorDisplaced, metric.GeneratorDropped, metric.GeneratorUndone:
	default:
		return
	}
	scenario := p.Series.Label("scenario")
	t := c.transactions[scenario]
	if t == nil {
		t = &transactionSums{}
		c.transactions[scenario] = t
	}
	switch p.Series.Name {
	case metric.TransactionDuration:
		t.durations += float64(p.Hist.Count())
	case metric.GeneratorLag:
		of, _ := c.flowOf(p.Series)
		_, late := p.Hist.AtLeast(of.displacedAfter)
		t.lags, t.late = t.lags+float64(p.Hist.Count()), t.late+float64(late)
	case metric.ArrivalQueueing:
		t.queueings += float64(p.Hist.Count())
	case metric.TransactionsScheduled:
		t.scheduled += p.Value
	case metric.Transactions:
		t.ended += p.Value
		switch p.Series.Label("outcome") {
		case metric.Completed:
			t.completed += p.Value
		case metric.Dropped:
			t.dropped += p.Value
			t.notDone += p.Value
		case metric.Failed, metric.TimedOut:
			t.notDone += p.Value
		}
	case metric.GeneratorDisplaced:
		t.displaced += p.Value
	case metric.GeneratorDropped:
		t.lost += p.Value
	case metric.GeneratorUndone:
		t.undone += p.Value
	}
}

// check compares the counts of one scenario's transactions in a frame.
func (t *transactionSums) check() error {
	switch {
	case t.scheduled != math.Trunc(t.scheduled):
		return fmt.Errorf("%g transactions were scheduled", t.scheduled)
	case t.completed+t.notDone != t.ended:
		return fmt.Errorf("%g of %g transactions have no known outcome", t.ended-t.completed-t.notDone, t.ended)
	case t.durations != t.ended:
		return fmt.Errorf("%g transactions have ended, and %g have a latency", t.ended, t.durations)
	case t.lags != t.ended:
		return fmt.Errorf("%g transactions have ended, and %g have a measured lag", t.ended, t.lags)
	case t.queueings > 0 && t.queueings != t.ended:
		return fmt.Errorf("%g transactions have ended, and the queueing of %g was measured", t.ended, t.queueings)
	case t.displaced > t.late:
		return fmt.Errorf("%g arrivals were displaced, and at most %g were late", t.displaced, t.late)
	case t.lost > t.dropped:
		return fmt.Errorf("the generator has lost %g arrivals, and %g were dropped", t.lost, t.dropped)
	case t.undone > t.notDone:
		return fmt.Errorf("%g transactions were not completed because of the generator, and %g were not completed", t.undone, t.notDone)
	}
	return nil
}

// checkSLO compares the counters of an SLO with the samples of its metric.
func (c *Checker) checkSLO(i int) error {
	s := c.counts[i]
	least, most := min(s.certain, s.judged), min(s.possible+s.unlabelledOver, s.judged)
	if c.slos[i].Aggregate == spec.Rate {
		most = min(s.possible+s.unlabelled, s.judged)
	}
	switch {
	case s.judged != math.Trunc(s.judged) || s.violated != math.Trunc(s.violated) || s.cleared != math.Trunc(s.cleared):
		return fmt.Errorf("has %g violations in %g samples, %g when cleared of the generator's share", s.violated, s.judged, s.cleared)
	case s.judged < s.samples || s.judged > s.samples+s.unlabelled:
		return fmt.Errorf("has judged %g samples, and its metric has %g", s.judged, s.samples)
	case s.violated < least || s.violated > most:
		return fmt.Errorf("has %g violations, and the values of its %g samples allow %s", s.violated, s.judged, between(least, most))
	case s.cleared > s.violated:
		return fmt.Errorf("has %g violations, and %g when cleared of the generator's share", s.violated, s.cleared)
	}
	return nil
}

func between(least, most float64) string {
	if least == most {
		return fmt.Sprintf("%g", least)
	}
	return fmt.Sprintf("%g to %g", least, most)
}

// account notes the transactions that a frame schedules and ends.
func (c *Checker) account(f metric.Frame) {
	for scenario, t := range c.transactions {
		if t.scheduled == t.ended {
			continue
		}
		at := slot{f.Source, scenario, f.Second}
		if c.due[at] += t.scheduled - t.ended; c.due[at] == 0 {
			delete(c.due, at)
		}
	}
}

// Unaccounted lists, by source, workers that have closed their streams and did not end each
// transaction in the second in which they have scheduled it.
func (c *Checker) Unaccounted() (all []Contradiction) {
	left := slices.SortedFunc(maps.Keys(c.due), func(a, b slot) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.second, b.second), cmp.Compare(a.scenario, b.scenario))
	})
	for _, at := range left {
		if n := len(all); !c.closed[at.source] || n > 0 && all[n-1].Source == at.source {
			continue
		}
		err := fmt.Errorf("%g of its scheduled transactions have no outcome", c.due[at])
		if c.due[at] < 0 {
			err = fmt.Errorf("%g more transactions have ended than were scheduled", -c.due[at])
		}
		all = append(all, Contradiction{at.source, c.at(at.second, at.scenario, err).Error()})
	}
	return all
}

// checked visits the frames against which nothing is known, and returns the first
// contradiction of each source.
func (c *Checker) checked(each func(visit func(metric.Frame) error) error, visit func(metric.Frame) error) (all []Contradiction, err error) {
	note := func(found Contradiction) {
		if len(all) < maxContradictions && !slices.ContainsFunc(all, func(c Contradiction) bool { return c.Source == found.Source }) {
			all = append(all, found)
		}
	}
	err = each(func(f metric.Frame) error {
		if err := c.Frame(f); err != nil {
			note(Contradiction{f.Source, err.Error()})
			return nil
		}
		return visit(f)
	})
	for _, found := range c.Unaccounted() {
		note(found)
	}
	return all, err
}
