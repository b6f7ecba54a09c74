package model

import (
	"math"
	"strconv"
	"time"

	"assay.dev/assay/internal/judge/stats"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// How SLOs are proposed. They are a starting point: what the log shows, with room.
const (
	room         = 1.5  // times the measured percentile
	leastLatency = 50.0 // ms: of an ordinary generator's delays a tighter bound may decide the verdict
	defaultP95   = 500  // ms, where the log has no request times
	// The bound of the share of requests that fail. If more than mostFailed of the log's did,
	// they show no share to allow, and it is leastErrors.
	leastErrors, mostErrors, mostFailed = 0.01, 0.9, 0.5
)

// longestLatency is the largest bound of a latency that thresholds.json takes, in ms.
const longestLatency = float64(spec.MaxDuration / time.Millisecond)

// condition is one of an SLO.
type condition struct {
	metric     string // as in thresholds.json
	aggregate  string // p(95), p(99) or rate
	bound      float64
	violations float64 // share of the transactions that may violate it
}

func (c condition) String() string { return c.aggregate + "<" + plain(c.bound) }

// name is how a note names it.
func (c condition) name() string {
	if c.metric == failedMetric {
		return c.metric
	}
	return c.aggregate
}

const durationMetric, failedMetric = metric.TransactionDuration, metric.RequestFailed

// needed is the number of transactions with which a run decides the condition.
func (c condition) needed() int64 { return stats.Needed(c.violations) }

// conditions are those that the requests of a flow suggest, where a share of the requests of
// all flows may fail.
func conditions(l *Latency, mayFail float64) []condition {
	all := []condition{{durationMetric, "p(95)", defaultP95, 0.05}}
	if l != nil {
		bound := func(measured float64) float64 { return min(longestLatency, roundUp(max(leastLatency, room*measured))) }
		all = []condition{{durationMetric, "p(95)", bound(l.P95), 0.05}, {durationMetric, "p(99)", bound(l.P99), 0.01}}
	}
	return append(all, condition{failedMetric, "rate", mayFail, mayFail})
}

// failedOf is the share of the requests that failed, over all flows.
func failedOf(d Document) (share float64) {
	for _, f := range d.Flows {
		share += f.Errors * f.Share
	}
	return share
}

// mostFailing is the share of requests that may fail, where a share of the log's did.
func mostFailing(failed float64) float64 {
	if failed > mostFailed {
		return leastErrors
	}
	return min(mostErrors, max(leastErrors, roundUp(2*failed)))
}

// transactions is how many a flow has in a stage.
func (f Flow) transactions(stage int, of Stage) int64 {
	return int64(f.Stages[stage]*float64(of.For) + 1e-9) // what a product of decimals lacks to a whole number
}

// judgment is what a flow's transactions can decide.
type judgment struct {
	most      int64       // transactions in a judged stage
	undecided bool        // no condition
	left      []condition // those that they cannot
	notJudged []int       // stages that are judged, but not for this flow
	easiest   condition   // condition with the least need, left or not
}

// judge sets the SLOs of the flows, and the stages in which each is judged: the conditions that
// the flow's largest judged stage can decide, and the stages that can decide them all. A flow
// that can decide none keeps the one that needs the fewest transactions, in its largest stage.
func (p *proposal) judge(d *Document) {
	mayFail := mostFailing(failedOf(*d))
	p.judgments = make([]judgment, len(d.Flows))
	for i := range d.Flows {
		f, j := &d.Flows[i], &p.judgments[i]
		largest := -1
		for s, of := range d.Stages {
			if of.Judge && (largest < 0 || f.transactions(s, of) > j.most) {
				largest, j.most = s, f.transactions(s, of)
			}
		}
		f.SLO, f.Judged = map[string][]string{}, make([]bool, len(d.Stages))
		needed := int64(0)
		for _, c := range conditions(f.Latency, mayFail) {
			if j.easiest.metric == "" || c.needed() < j.easiest.needed() {
				j.easiest = c
			}
			if c.needed() > j.most {
				j.left = append(j.left, c)
				continue
			}
			needed = max(needed, c.needed())
			f.SLO[c.metric] = append(f.SLO[c.metric], c.String())
		}
		if j.undecided = len(f.SLO) == 0; j.undecided {
			c := j.easiest
			f.SLO[c.metric] = []string{c.String()}
			if of := d.Stages[largest]; f.transactions(largest, of) < 1 { // a judged stage has one
				f.Stages[largest] = math.Ceil(1e4/float64(of.For)) / 1e4
			}
		}
		for s, of := range d.Stages {
			switch {
			case !of.Judge:
			case s == largest, !j.undecided && f.transactions(s, of) >= needed:
				f.Judged[s] = true
			default:
				j.notJudged = append(j.notJudged, s)
			}
		}
	}
}

// small are the flows of methods that are safe, or of others, which can decide nothing by
// themselves, but with what is left of such methods; none if they cannot.
func (p *proposal) small(d Document, safe bool) (all []int) {
	together := make([]float64, len(d.Stages)) // transactions
	needed := int64(math.MaxInt64)
	for i, f := range d.Flows {
		j := p.judgments[i]
		if f.Writes == safe || !j.undecided && f.Method != "" {
			continue
		}
		if f.Method != "" {
			all = append(all, i)
		}
		needed = min(needed, j.easiest.needed())
		for s, of := range d.Stages {
			if of.Judge {
				together[s] += f.Stages[s] * float64(of.For)
			}
		}
	}
	for _, n := range together {
		if n >= float64(needed) {
			return all
		}
	}
	return nil
}

// plain is a number without an exponent, as conditions have it.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// roundUp rounds up to the next of 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten.
func roundUp(v float64) float64 {
	if v <= 0 {
		return 0
	}
	exponent := math.Floor(math.Log10(v))
	unit, inverse := math.Pow(10, exponent), math.Pow(10, -exponent)
	for _, step := range []float64{10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100} {
		up := step * unit / 10
		if exponent < 0 { // dividing gives the shortest decimal
			up = step / (10 * inverse)
		}
		if v <= up*(1+1e-9) {
			return up
		}
	}
	return 10 * unit
}
