// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"math"
	"strings"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// transactionSums are what a frame says of the transactions of one scenario.
type transactionSums struct {
	latencies                     float64 // sum
	durations, lags, queueings    float64
	scheduled, ended, notDone     float64
	completed, dropped            float64
	displaced, late, lost, undone float64
	byScript, unsent, lacked      float64
}

// sloSums are what a frame says of an SLO: its counters; and the samples of its metric, with
// how many of them violate it for certain and at most, by their values. Whether those of the
// overflow series are samples of the SLO is not known.
type sloSums struct {
	judged, violated, cleared  float64
	samples, certain, possible float64
	failed                     float64 // requests of a series that the SLO judges
	unlabelled, unlabelledOver float64
}

// read sums up the points of a frame.
func (c *Checker) read(f metric.Frame) {
	c.transactions, c.rates = emptied(c.transactions), emptied(c.rates)
	clear(c.iterations)
	clear(c.counts)
	c.unplanned = nil
	c.requests.clear()
	clear(c.failures)
	for _, p := range f.Points {
		name := p.Series.Name
		if p.Kind == metric.Counter {
			switch name {
			case metric.Judged, metric.Violations, metric.ViolationsCleared:
				c.countSLO(p)
				continue
			}
			if of, ok := strings.CutSuffix(name, metric.RateTotal); ok {
				c.addRate(of, p, p.Value)
			} else if of, ok := strings.CutSuffix(name, metric.RateOccurred); ok {
				if metric.IsRequestFailed(of) {
					c.addFailures(metric.ProtocolOf(of), p)
				}
				c.addRate(of, p, -p.Value)
			}
		}
		if p.Kind == metric.Histogram {
			c.left.spend(0, len(c.on[name])*compareWork(p.Hist))
			for _, i := range c.on[name] {
				s := c.slos[i]
				_, possible := p.Hist.AtLeast(s.LeastViolating())
				c.addSamples(i, p.Series, float64(p.Hist.Count()), certainlyAtLeast(p.Hist, s.LeastViolating()), float64(possible))
			}
			if name == metric.IterationDuration {
				c.addIterations(p)
			}
		}
		c.requests.add(p)
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
		case s.ofRequestTimes():
			// Failures violate it whatever they took.
			sums.certain, sums.possible = max(sums.certain, sums.failed), sums.possible+c.failures[metric.ProtocolOf(s.Metric)]
		}
	}
}

// emptied is a map without its entries. One that was large is made again: to clear it would
// take as long for each further frame.
func emptied[K comparable, V any](m map[K]V) map[K]V {
	if len(m) > 5*metric.MaxSeries {
		return map[K]V{}
	}
	clear(m)
	return m
}

// compareWork is what it takes to compare a histogram with a bound, in units of an allowance.
func compareWork(h *metric.Hist) int { return 1 + h.Size()/256 }

// certainlyAtLeast is how many observations are at or over a limit for certain.
func certainlyAtLeast(h *metric.Hist, limit float64) float64 {
	certain, _ := h.AtLeast(limit)
	if highest, ok := h.Max(); ok && highest >= limit {
		certain = max(certain, 1)
	}
	return float64(certain)
}

// ofRequestTimes reports whether the SLO judges a time that each request has.
func (s sampledSLO) ofRequestTimes() bool {
	return metric.IsRequestTime(s.Metric) && s.Aggregate != spec.Rate
}

// addFailures adds failed requests of a protocol, also to the SLOs on their times that judge
// them.
func (c *Checker) addFailures(of *metric.Protocol, p metric.Point) {
	c.failures[of] += p.Value
	c.left.spend(0, len(c.slos))
	for i, s := range c.slos {
		if s.ofRequestTimes() && metric.ProtocolOf(s.Metric) == of && c.judges(i, p.Series) {
			c.counts[i].failed += p.Value
		}
	}
}

// judges reports whether an SLO judges the samples of a series, of which it is known.
func (c *Checker) judges(i int, of metric.Series) bool {
	s := c.slos[i]
	return of.Label(metric.OverflowLabel) == "" && (s.Flow == "" || of.Label("scenario") == s.Flow) && of.Matches(s.Selector)
}

// countSLO reads a counter of an SLO.
func (c *Checker) countSLO(p metric.Point) {
	id := p.Series.Label("slo")
	i, known := c.byID[id]
	if !known {
		c.unplanned = &id
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
	sums := &c.counts[i]
	switch {
	case s.Label(metric.OverflowLabel) != "":
		sums.unlabelled, sums.unlabelledOver = sums.unlabelled+n, sums.unlabelledOver+possible
	case c.judges(i, s):
		sums.samples, sums.certain, sums.possible = sums.samples+n, sums.certain+certain, sums.possible+possible
	}
}

// addRate adds the samples of a rate, or with a negative number those that were not 0.
func (c *Checker) addRate(of string, p metric.Point, n float64) {
	c.key = metric.Series{Name: of, Labels: p.Series.Labels}.AppendKey(c.key[:0])
	c.rates[string(c.key)] += n
	c.left.spend(0, len(c.on[of]))
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
		metric.GeneratorDisplaced, metric.GeneratorDropped, metric.GeneratorUndone, metric.GeneratorLacks, metric.ScriptFailed, metric.TransactionsUnsent:
	default:
		return
	}
	scenario := c.scenarioOf(p.Series)
	t := c.transactions[scenario]
	if t == nil {
		t = &transactionSums{}
		c.transactions[scenario] = t
	}
	switch p.Series.Name {
	case metric.TransactionDuration:
		t.durations, t.latencies = t.durations+float64(p.Hist.Count()), t.latencies+p.Hist.Sum()
	case metric.GeneratorLag:
		_, late := p.Hist.AtLeast(c.flows[scenario].displacedAfter)
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
	case metric.ScriptFailed:
		t.byScript += p.Value
	case metric.TransactionsUnsent:
		t.unsent += p.Value
	case metric.GeneratorLacks:
		t.lacked += p.Value
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
	case t.byScript > t.undone:
		return fmt.Errorf("the script failed %g transactions, and %g were not completed because of it or the generator", t.byScript, t.undone)
	case t.unsent > t.ended-t.dropped:
		return fmt.Errorf("%g transactions sent nothing, and %g were started", t.unsent, t.ended-t.dropped)
	case t.lacked > t.undone:
		return fmt.Errorf("%g transactions failed for what the generator lacks, and %g were not completed because of it", t.lacked, t.undone)
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
