// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// Contradiction is why a frame cannot have been measured, or why the frames of a source
// cannot all have been.
type Contradiction struct {
	Source string
	What   string
}

// Bounds of the contradictions that are kept, one of each source, and of their texts.
const (
	// maxContradictions bounds the contradictions of sources other than workers; these hide none of
	// the workers' contradictions.
	maxContradictions = 100
	maxWhat           = 1000
)

// Checker finds frames that contradict themselves, each other, or the plan of their run, as
// they arrive and when a record is opened. A frame holds what a worker has taken out of its
// second at once, with all that one transaction or request adds to it, so that the counts
// of each frame by itself must agree; what is late is in a further frame for its second.
//
// A worker that tells the same lie in all of its metrics is not found.
//
// Frame must not be called concurrently; Start may be called concurrently with it.
type Checker struct {
	t0    atomic.Int64        // unix s; 0: the load has not started
	flows map[string]flowPlan // by scenario; of a flow without a name, the only one
	slos  []sampledSLO
	byID  map[string]int
	on    map[string][]int // SLOs by the name of their metric
	pairs [][2]int         // SLOs on the same samples, of which the second has the next higher bound
	left  *allowance       // allowance of the timeline; nil: unlimited

	closed  map[string]bool
	seconds map[slot]*secondSums // those of which not all is known
	until   map[slot]int64       // the last second in which a worker scheduled transactions of a scenario, by the slot of second 0

	// What is known of the current frame.
	transactions map[string]*transactionSums
	iterations   map[string]*iterationSums
	requests     requests
	failures     map[*metric.Protocol]float64 // failed requests
	counts       []sloSums
	unplanned    *string            // an SLO that the plan has not, and that no worker counts; nil: none
	rates        map[string]float64 // samples of a rate's series, less those that were not 0
	key          []byte
}

// flowPlan is what the transactions of a flow keep to.
type flowPlan struct {
	length         time.Duration
	displacedAfter float64 // ms
	latencies      []int   // its SLOs on transaction_duration
}

// sampledSLO is an SLO whose samples workers count.
type sampledSLO struct {
	spec.SLO
	id      string
	samples string // the flow and metric that it is on, with its selector
}

// NewChecker makes a checker for the frames of a run.
func NewChecker(p Plan) *Checker {
	c := &Checker{
		flows: map[string]flowPlan{}, byID: map[string]int{}, on: map[string][]int{},
		closed: map[string]bool{}, seconds: map[slot]*secondSums{}, until: map[slot]int64{},
		transactions: map[string]*transactionSums{}, iterations: map[string]*iterationSums{}, requests: requests{byName: map[requestsKey]*requestSums{}}, rates: map[string]float64{}, failures: map[*metric.Protocol]float64{},
	}
	plans := p.Load.PerFlow()
	for i, of := range p.Profile.Flows {
		first := len(c.slos)
		for _, s := range of.SLOs {
			if s.Kind() == spec.KindSamples {
				id, n := s.ID(), len(c.slos)
				c.slos = append(c.slos, sampledSLO{s, id, s.Flow + " " + s.MetricText()})
				c.byID[id], c.on[s.Metric] = n, append(c.on[s.Metric], n)
			}
		}
		if i < len(plans) {
			latencies := slices.DeleteFunc(slices.Clone(c.on[metric.TransactionDuration]), func(n int) bool { return n < first })
			c.flows[of.Name] = flowPlan{plans[i].Duration(), float64(plans[i].DisplacedAfter) / float64(time.Millisecond), latencies}
		}
	}
	c.pair()
	c.counts = make([]sloSums, len(c.slos))
	return c
}

// pair finds the SLOs of which neighbours are to be compared, in the order of their bounds.
func (c *Checker) pair() {
	var all []int
	for i, s := range c.slos {
		if s.Aggregate != spec.Rate {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(i, j int) int {
		return cmp.Or(cmp.Compare(c.slos[i].samples, c.slos[j].samples), cmp.Compare(c.slos[i].LeastViolating(), c.slos[j].LeastViolating()))
	})
	for k := 1; k < len(all); k++ {
		if i, j := all[k-1], all[k]; c.slos[i].samples == c.slos[j].samples {
			c.pairs = append(c.pairs, [2]int{i, j})
		}
	}
}

// Start says when the load has started. No frame with transactions may be of an earlier time.
func (c *Checker) Start(t0 time.Time) { c.t0.Store(t0.Unix()) }

// Frame says why a frame cannot have been measured; nil: nothing is known against it.
func (c *Checker) Frame(f metric.Frame) error {
	if err := f.Check(); err != nil || !metric.IsWorker(f.Source) {
		return err
	}
	switch {
	case c.closed[f.Source]:
		return fmt.Errorf("it has reported after its end")
	case f.Closing:
		c.closed[f.Source] = true
		return nil
	}
	if err := c.inTime(f); err != nil {
		return err
	}
	c.left.spend(0, len(c.slos)+len(c.pairs)+len(c.flows))
	c.read(f)
	if c.unplanned != nil {
		return c.at(f.Second, "", fmt.Errorf("it has judged samples by %.100q, which is no SLO of the plan", *c.unplanned))
	}
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
	if err := c.requests.check(); err != nil {
		return c.at(f.Second, "", err)
	}
	return c.account(f)
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

// inTime checks that the transactions of a worker's frame belong to the schedule.
func (c *Checker) inTime(f metric.Frame) error {
	t0 := c.t0.Load()
	if t0 == 0 {
		return nil
	}
	for _, p := range f.Points {
		switch p.Series.Name {
		case metric.TransactionDuration, metric.Transactions, metric.TransactionsScheduled, metric.GeneratorLag, metric.IterationDuration:
		default:
			continue
		}
		of, known := c.flows[c.scenarioOf(p.Series)]
		at := f.Second - t0
		switch {
		case !known && p.Series.Name == metric.IterationDuration: // iterations of setup(), or of more label sets than are kept
		case !known:
			return fmt.Errorf("%s is of no flow of the run", p.Series.Key())
		case at < 0 || time.Duration(at)*time.Second >= of.length:
			return fmt.Errorf("%s in second %d of a load of %s", p.Series.Name, at, of.length)
		}
	}
	return nil
}

// scenarioOf is the flow that a series is of: all are of the only one where that has no name.
func (c *Checker) scenarioOf(s metric.Series) string {
	if _, single := c.flows[""]; single {
		return ""
	}
	return s.Label("scenario")
}

// checked visits the frames against which nothing is known, and what is sound of those of
// others than workers. It returns the first contradiction of each source.
func (c *Checker) checked(each func(visit func(metric.Frame) error) error, visit func(metric.Frame) error) (all []Contradiction, err error) {
	found, most := map[string]bool{}, map[bool]int{true: spec.MaxFleet, false: maxContradictions}
	note := func(source, what string) {
		worker := metric.IsWorker(source)
		if found[source] || most[worker] == 0 {
			return
		}
		found[source] = true
		most[worker]--
		all = append(all, Contradiction{mask.Shorten(source, maxWhat), mask.Shorten(what, maxWhat)})
	}
	err = each(func(f metric.Frame) error {
		why := c.Frame(f)
		if err := c.left.err(); err != nil {
			return fmt.Errorf("read frames: %w", err)
		}
		if why != nil {
			note(f.Source, why.Error())
			if metric.IsWorker(f.Source) {
				return nil
			}
			f = f.Sound()
		}
		return visit(f)
	})
	for _, left := range c.Unaccounted() {
		note(left.Source, left.What)
	}
	return all, err
}
