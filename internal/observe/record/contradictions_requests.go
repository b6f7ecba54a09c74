// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/metric"
)

// requests are what a frame says of requests. A worker adds all samples of one at once.
type requests struct {
	byName map[requestsKey]*requestSums
	// unlabelled: some are in an overflow series of a metric, so that only the sums over all
	// can be compared.
	unlabelled     bool
	ofTransactions float64 // sent by a scenario: those of setup() and teardown() have none
}

// requestsKey identifies requests by the labels that all of their metrics have.
type requestsKey struct {
	of             *metric.Protocol
	scenario, name string
}

// requestSums are what the metrics of some requests say of them.
type requestSums struct {
	of *metric.Protocol
	// issued is the number of requests, and judged the number of samples of the rate of failed
	// requests, from which a script may except some requests.
	issued, judged float64
	count, sum     []float64 // number and sum of the samples, for each of the requests' times
}

func (r *requests) clear() {
	r.byName = emptied(r.byName)
	r.unlabelled, r.ofTransactions = false, 0
}

// add adds a point, if it is of a metric of requests.
func (r *requests) add(p metric.Point) {
	name, total := strings.CutSuffix(p.Series.Name, metric.RateTotal)
	of := metric.ProtocolOf(name)
	if of == nil || total != (name == of.Failed) {
		return
	}
	r.unlabelled = r.unlabelled || p.Series.Label(metric.OverflowLabel) != ""
	key := requestsKey{of, p.Series.Label("scenario"), p.Series.Label("name")}
	s := r.byName[key]
	if s == nil {
		s = newRequestSums(of)
		r.byName[key] = s
	}
	switch time := slices.Index(of.Times, name); {
	case time >= 0:
		s.count[time], s.sum[time] = s.count[time]+float64(p.Hist.Count()), s.sum[time]+p.Hist.Sum()
	case name == of.Requests:
		if s.issued += p.Value; key.scenario != "" {
			r.ofTransactions += p.Value
		}
	default:
		s.judged += p.Value
	}
}

// check compares the metrics with each other.
func (r *requests) check() error {
	all := r.byName
	if r.unlabelled {
		all = map[requestsKey]*requestSums{}
		for key, s := range r.byName {
			of := requestsKey{of: key.of}
			if all[of] == nil {
				all[of] = newRequestSums(key.of)
			}
			all[of].merge(s)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(all), requestsKey.compare) {
		if err := all[key].check(); err != nil {
			return err
		}
	}
	return nil
}

func (k requestsKey) compare(other requestsKey) int {
	return cmp.Or(cmp.Compare(k.of.Name, other.of.Name), cmp.Compare(k.scenario, other.scenario), cmp.Compare(k.name, other.name))
}

func newRequestSums(of *metric.Protocol) *requestSums {
	return &requestSums{of: of, count: make([]float64, len(of.Times)), sum: make([]float64, len(of.Times))}
}

func (s *requestSums) merge(other *requestSums) {
	s.issued, s.judged = s.issued+other.issued, s.judged+other.judged
	for i := range s.of.Times {
		s.count[i], s.sum[i] = s.count[i]+other.count[i], s.sum[i]+other.sum[i]
	}
}

func (s *requestSums) check() error {
	for i, n := range s.count {
		if n != s.issued && (i == 0 || n > 0) {
			return fmt.Errorf("%g requests were issued, and %s has %g", s.issued, s.of.Times[i], n)
		}
	}
	if s.judged > s.issued {
		return fmt.Errorf("%g requests were issued, and %s has %g", s.issued, s.of.Failed, s.judged)
	}
	measured, parts, size := 0.0, 0.0, 0.0
	for i := 1; i <= s.of.Parts; i++ {
		measured, parts, size = measured+s.count[i], parts+s.sum[i], size+math.Abs(s.sum[i])
	}
	if measured == 0 {
		return nil
	}
	const slack = 1e-6 // relative, and ms for each, of the rounding of as many additions
	if math.Abs(s.sum[0]-parts) > slack*(size+s.issued) {
		return fmt.Errorf("%g requests took %g ms, and their parts %g ms", s.issued, s.sum[0], parts)
	}
	return nil
}
