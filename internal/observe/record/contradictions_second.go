// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"assay.dev/assay/internal/observe/metric"
)

// slot is one second of a worker's schedule.
type slot struct {
	source, scenario string
	second           int64
}

// secondSums are what a worker says of one second of its schedule, until all transactions of
// the second are known and have ended. What its frames say of it can be compared only then: an
// iteration of k6 may be in an earlier frame than its transaction.
type secondSums struct {
	due              float64 // transactions that were scheduled, less those that have ended
	ended, latencies float64 // transactions, and the sum of their latencies
	// iterations and durations are the number of k6's iterations, each of which is a part of a
	// transaction, and the sum of their durations.
	iterations, durations float64
	spare                 []float64
	// By the flow's SLOs on transaction_duration: violations, less the iterations that alone
	// violate it.
}

// size is how much memory they take, in bytes.
func (s *secondSums) size() int { return slotBytes + 8*len(s.spare) }

// iterationSums are what a frame says of k6's iterations of one scenario.
type iterationSums struct {
	count, durations float64
	slow             []float64 // by the flow's SLOs on transaction_duration: those that alone violate it for certain
}

// addIterations adds a point on the durations of iterations.
func (c *Checker) addIterations(p metric.Point) {
	scenario := c.scenarioOf(p.Series)
	of, known := c.flows[scenario]
	if !known {
		return
	}
	i := c.iterations[scenario]
	if i == nil {
		i = &iterationSums{slow: make([]float64, len(of.latencies))}
		c.iterations[scenario] = i
	}
	i.count, i.durations = i.count+float64(p.Hist.Count()), i.durations+p.Hist.Sum()
	c.left.spend(0, len(of.latencies)*compareWork(p.Hist))
	for j, n := range of.latencies {
		i.slow[j] += certainlyAtLeast(p.Hist, c.slos[n].LeastViolating())
	}
}

// account adds a frame to the second of the schedule that it is of.
func (c *Checker) account(f metric.Frame) error {
	if n := c.requests.ofTransactions; n > 0 && c.over(f) {
		return c.at(f.Second, "", fmt.Errorf("%g requests are of transactions, and none was open", n))
	}
	for _, scenario := range slices.Sorted(maps.Keys(c.flows)) {
		t, i, latencies := c.transactions[scenario], c.iterations[scenario], c.flows[scenario].latencies
		if t == nil && i == nil {
			continue
		}
		at := slot{f.Source, scenario, f.Second}
		s := c.seconds[at]
		if s == nil {
			s = &secondSums{spare: make([]float64, len(latencies))}
			c.seconds[at] = s
			c.left.spend(s.size(), 0)
		}
		if i != nil {
			s.iterations, s.durations = s.iterations+i.count, s.durations+i.durations
		}
		for j, n := range latencies {
			if i != nil {
				s.spare[j] -= i.slow[j]
			}
			s.spare[j] += c.counts[n].violated
		}
		worker := slot{f.Source, scenario, 0}
		last := slot{f.Source, scenario, c.until[worker]}
		if t != nil {
			s.due, s.ended, s.latencies = s.due+t.scheduled-t.ended, s.ended+t.ended, s.latencies+t.latencies
			if t.scheduled > 0 && f.Second > last.second {
				c.until[worker] = f.Second
				if err := c.settle(last); err != nil {
					return err
				}
			}
		}
		if f.Second < c.until[worker] {
			if err := c.settle(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// over reports whether all transactions of a frame's second had ended before the frame, or
// none can have been scheduled in it.
func (c *Checker) over(f metric.Frame) bool {
	t0 := c.t0.Load()
	if t0 == 0 {
		return false
	}
	for scenario, of := range c.flows {
		if at := f.Second - t0; at < 0 || time.Duration(at)*time.Second >= of.length {
			continue
		}
		if c.transactions[scenario] != nil || c.seconds[slot{f.Source, scenario, f.Second}] != nil || f.Second >= c.until[slot{f.Source, scenario, 0}] {
			return false
		}
	}
	return true
}

// settle compares the sums of a second of which all transactions are scheduled, once they have
// ended.
func (c *Checker) settle(at slot) error {
	s := c.seconds[at]
	if s == nil || s.due != 0 {
		return nil
	}
	delete(c.seconds, at)
	c.left.spend(-s.size(), 0)
	if err := c.checkSecond(s, at.scenario); err != nil {
		return c.at(at.second, at.scenario, err)
	}
	return nil
}

// checkSecond compares transactions with the iterations that they consist of.
func (c *Checker) checkSecond(s *secondSums, scenario string) error {
	const slack = 1e-6 // relative, of the rounding of as many additions
	switch {
	case s.due > 0:
		return fmt.Errorf("%g of its scheduled transactions have no outcome", s.due)
	case s.due < 0:
		return fmt.Errorf("%g more transactions have ended than were scheduled", -s.due)
	case s.iterations > s.ended:
		return fmt.Errorf("%g transactions have ended, and %g iterations", s.ended, s.iterations)
	case s.latencies < s.durations-slack*math.Abs(s.durations):
		return fmt.Errorf("%g transactions took %g ms, and their iterations %g ms", s.ended, s.latencies, s.durations)
	}
	for j, n := range c.flows[scenario].latencies {
		if s.spare[j] < 0 {
			return fmt.Errorf("%g more iterations violate %s than transactions", -s.spare[j], c.slos[n].id)
		}
	}
	return nil
}

// Unaccounted lists, by source, workers that have closed their streams and did not end each
// transaction in the second in which they have scheduled it.
func (c *Checker) Unaccounted() (all []Contradiction) {
	left := slices.SortedFunc(maps.Keys(c.seconds), func(a, b slot) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.second, b.second), cmp.Compare(a.scenario, b.scenario))
	})
	for _, at := range left {
		if n := len(all); !c.closed[at.source] || n > 0 && all[n-1].Source == at.source {
			continue
		}
		if err := c.checkSecond(c.seconds[at], at.scenario); err != nil {
			all = append(all, Contradiction{at.source, c.at(at.second, at.scenario, err).Error()})
		}
	}
	return all
}
