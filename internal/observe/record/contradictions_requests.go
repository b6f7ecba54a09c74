package record

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"assay.dev/assay/internal/observe/metric"
)

// requests are what a frame says of HTTP requests. A worker adds all samples of one at once.
type requests struct {
	byName map[string]*requestSums // by scenario and name, which all of these metrics have as labels
	// unlabelled: some are in an overflow series of a metric, so that only the sums over all
	// can be compared.
	unlabelled     bool
	ofTransactions float64 // sent by a scenario: those of setup() and teardown() have none
}

// requestSums are what the metrics of some requests say of them.
type requestSums struct {
	issued, judged float64 // http_reqs; samples of http_req_failed, of which a script may except requests
	count, sum     [len(metric.RequestTimes)]float64
}

func (r *requests) clear() {
	r.byName = emptied(r.byName)
	r.unlabelled, r.ofTransactions = false, 0
}

// add adds a point, if it is of a metric of requests.
func (r *requests) add(p metric.Point) {
	time := slices.Index(metric.RequestTimes[:], p.Series.Name)
	if time < 0 && p.Series.Name != metric.Requests && p.Series.Name != metric.RequestFailed+metric.RateTotal {
		return
	}
	r.unlabelled = r.unlabelled || p.Series.Label(metric.OverflowLabel) != ""
	scenario := p.Series.Label("scenario")
	key := scenario + " " + p.Series.Label("name")
	s := r.byName[key]
	if s == nil {
		s = &requestSums{}
		r.byName[key] = s
	}
	switch {
	case time >= 0:
		s.count[time], s.sum[time] = s.count[time]+float64(p.Hist.Count()), s.sum[time]+p.Hist.Sum()
	case p.Series.Name == metric.Requests:
		if s.issued += p.Value; scenario != "" {
			r.ofTransactions += p.Value
		}
	default:
		s.judged += p.Value
	}
}

// check compares the metrics with each other.
func (r *requests) check() error {
	if r.unlabelled {
		all := &requestSums{}
		for _, s := range r.byName {
			all.merge(s)
		}
		return all.check()
	}
	for _, key := range slices.Sorted(maps.Keys(r.byName)) {
		if err := r.byName[key].check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *requestSums) merge(other *requestSums) {
	s.issued, s.judged = s.issued+other.issued, s.judged+other.judged
	for i := range metric.RequestTimes {
		s.count[i], s.sum[i] = s.count[i]+other.count[i], s.sum[i]+other.sum[i]
	}
}

func (s *requestSums) check() error {
	for i, n := range s.count {
		if n != s.issued && (i == 0 || n > 0) {
			return fmt.Errorf("%g requests were issued, and %s has %g", s.issued, metric.RequestTimes[i], n)
		}
	}
	if s.judged > s.issued {
		return fmt.Errorf("%g requests were issued, and %s has %g", s.issued, metric.RequestFailed, s.judged)
	}
	if s.count[1]+s.count[2]+s.count[3] == 0 {
		return nil
	}
	const slack = 1e-6 // relative, and ms for each, of the rounding of as many additions
	parts := s.sum[1] + s.sum[2] + s.sum[3]
	if math.Abs(s.sum[0]-parts) > slack*(math.Abs(s.sum[1])+math.Abs(s.sum[2])+math.Abs(s.sum[3])+s.issued) {
		return fmt.Errorf("%g requests took %g ms, and their parts %g ms", s.issued, s.sum[0], parts)
	}
	return nil
}
