// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/spec"
)

// maxUnjudged bounds the endpoints that are listed one by one.
const maxUnjudged = 20

// Shares of failures from which what no SLO judges could have changed a verdict: a tenth of what
// throughput allows, and for checks what k6's own examples allow.
const (
	weighsFailed = 0.001
	weighsChecks = 0.01
)

// judging are the SLOs on a flow, or on a run without flows, and on the whole run.
func (p *part) judging() []spec.SLO { return slices.Concat(p.Plan.Profile.WholeSLOs(), p.common) }

// judgedBy reports whether an SLO that is so judges a part of the samples of its metric.
func judgedBy(all []spec.SLO, part []metric.Label, is func(spec.SLO) bool) bool {
	return slices.ContainsFunc(all, func(s spec.SLO) bool { return is(s) && metric.Series{Labels: part}.Matches(s.Selector) })
}

// partsOf splits the samples of a series' name, which are of a metric, into the smallest parts
// that classes and SLOs tell apart: by all their labels, empty ones included.
func (e *evidence) partsOf(name string, judged []spec.SLO) (all [][]metric.Label) {
	keys := slices.Concat(metric.Classes(metric.WithoutRate(name)), overflowLabels)
	for _, s := range judged {
		for _, l := range s.Selector {
			if !slices.Contains(keys, l.Key) {
				keys = append(keys, l.Key)
			}
		}
	}
	seen := map[string]bool{}
	for _, s := range e.seriesOf(name) {
		var part []metric.Label
		for _, k := range keys {
			part = append(part, metric.Label{Key: k, Value: s.Label(k)})
		}
		if key := (metric.Series{Labels: part}).Key(); !seen[key] {
			seen[key] = true
			all = append(all, part)
		}
	}
	return all
}

// ofTimes selects the SLOs on the times of a protocol's requests, which failed ones violate too.
func ofTimes(of *metric.Protocol) func(spec.SLO) bool {
	return func(s spec.SLO) bool { return metric.ProtocolOf(s.Metric) == of && metric.IsRequestTime(s.Metric) }
}

func ofMetric(name string) func(spec.SLO) bool {
	return func(s spec.SLO) bool { return s.Metric == name }
}

// unjudgedLatency are the transactions of a flow whose latency no SLO judges.
func unjudgedLatency(p *part) []certificate.Omission {
	d := p.distribution(metric.TransactionDuration, nil)
	if slices.ContainsFunc(p.judging(), spec.SLO.OfTransactions) || d.all.Count() == 0 {
		return nil
	}
	var observed []string
	for _, q := range []float64{0.95, 0.99} {
		v, _ := d.all.Quantile(q)
		observed = append(observed, fmt.Sprintf("p%g %s", 100*q, quantity.Format(v, "ms")))
	}
	return []certificate.Omission{{
		What:         "no SLO judges transaction_duration (" + strings.Join(observed, ", ") + ")",
		Transactions: new(int64(d.all.Count())), Weighs: true,
	}}
}

// unjudgedFailures are the requests of protocols on whose failures there is no SLO, where some
// failed. An SLO on their times, which they violate, judges them all the same.
func unjudgedFailures(p *part) (all []certificate.Omission) {
	judged := p.judging()
	for _, of := range metric.Protocols {
		if slices.ContainsFunc(judged, ofMetric(of.Failed)) {
			continue
		}
		var requests, failed, weighing int64
		for _, part := range p.partsOf(of.Failed+metric.RateTotal, judged) {
			total, occurred := p.samplesOf(of.Failed, part)
			requests, failed = requests+total, failed+occurred
			if !judgedBy(judged, part, ofTimes(of)) {
				weighing += occurred
			}
		}
		if failed > 0 {
			all = append(all, certificate.Omission{
				What: "no SLO judges " + of.Failed, Requests: &requests, Failed: &failed,
				Weighs: float64(weighing) > weighsFailed*float64(requests),
			})
		}
	}
	return all
}

// samplesOf counts samples of a rate, and those that are not 0.
func (e *evidence) samplesOf(rate string, selector []metric.Label) (total, occurred int64) {
	count := func(name string) int64 {
		n := e.tally(name, selector).n
		for _, c := range e.contributions(name, metric.Counter, selector) {
			if c.whole {
				n += int64(c.Value)
			}
		}
		return n
	}
	return count(rate + metric.RateTotal), count(rate + metric.RateOccurred)
}

// endpoint is one that no SLO covers.
type endpoint struct {
	of       *metric.Protocol
	labels   []metric.Label
	times    metric.Hist
	failed   int64
	excepted int64 // failures that an SLO on failures would have judged, had it selected them
}

// unjudgedEndpoints are the endpoints whose requests no SLO on their times judges. Where one
// judges the transactions, they count as parts of these, and are listed only if the profile
// judges other endpoints by themselves, or if they were slow: slower than the widest bound that
// it has on endpoints, or else on transactions.
func unjudgedEndpoints(p *part) (all []certificate.Omission) {
	judged := p.judging()
	var rest certificate.Omission
	for _, of := range metric.Protocols {
		found := uncovered(p.evidence, of, judged)
		some := slices.ContainsFunc(judged, ofTimes(of)) || !slices.ContainsFunc(judged, spec.SLO.OfTransactions)
		for _, u := range found {
			slow, text := u.slow(judged)
			o := certificate.Omission{
				What: u.String() + text, Requests: new(int64(u.times.Count())), Failed: &u.failed, Weighs: slow || u.excepted > 0,
			}
			switch {
			case !some && !o.Weighs:
			case len(all) < maxUnjudged:
				all = append(all, o)
			case rest.Requests == nil:
				rest = o
				rest.What = "further endpoints that no SLO judges"
			default:
				*rest.Requests, *rest.Failed, rest.Weighs = *rest.Requests+*o.Requests, *rest.Failed+*o.Failed, rest.Weighs || o.Weighs
			}
		}
	}
	if rest.Requests != nil {
		all = append(all, rest)
	}
	return all
}

// uncovered are the endpoints of a protocol whose times no SLO judges, those with failures and
// many requests first.
func uncovered(e *evidence, of *metric.Protocol, judged []spec.SLO) (all []*endpoint) {
	byName := map[string]*endpoint{}
	failures := slices.ContainsFunc(judged, ofMetric(of.Failed))
	for _, part := range e.partsOf(of.Duration(), judged) {
		if judgedBy(judged, part, ofTimes(of)) {
			continue
		}
		u := &endpoint{of: of}
		for _, l := range part {
			if l.Value != "" && l.Key != "group" {
				u.labels = append(u.labels, l)
			}
		}
		slices.SortFunc(u.labels, byKey)
		if known := byName[u.String()]; known != nil {
			u = known
		} else {
			byName[u.String()], all = u, append(all, u)
		}
		times := e.distribution(of.Duration(), part).all
		u.times.Merge(times)
		_, failed := e.samplesOf(of.Failed, part[:len(of.Classes)+len(overflowLabels)]) // the rate may lack what SLOs on the times select by
		failed = min(failed, int64(times.Count()))
		u.failed += failed
		if failures && !judgedBy(judged, part, ofMetric(of.Failed)) {
			u.excepted += failed
		}
	}
	all = slices.DeleteFunc(all, func(u *endpoint) bool { return u.times.Count() == 0 })
	slices.SortStableFunc(all, func(a, b *endpoint) int {
		return cmp.Or(cmp.Compare(b.failed, a.failed), cmp.Compare(b.times.Count(), a.times.Count()))
	})
	return all
}

// String is like "no SLO judges http_req_duration{name:search}".
func (u *endpoint) String() string {
	return "no SLO judges " + metric.Series{Name: u.of.Duration(), Labels: u.labels}.Key()
}

// slow reports whether the endpoint misses, beyond chance, the widest of the profile's bounds on a
// percentile: of other endpoints, or else of transactions; with that percentile as text.
func (u *endpoint) slow(judged []spec.SLO) (slow bool, text string) {
	is := ofMetric(u.of.Duration())
	if !slices.ContainsFunc(judged, is) {
		is = spec.SLO.OfTransactions
	}
	widest := map[float64]float64{}
	for _, s := range judged {
		if is(s) && s.Aggregate == spec.Percentile {
			widest[s.Quantile] = max(widest[s.Quantile], s.LeastViolating())
		}
	}
	shown := 0.95
	for q, bound := range widest {
		slower, _ := atLeast(&u.times, bound)
		if over := beyondShare(float64(u.times.Count()), slower, 1-q); over && !slow || over == slow && q < shown {
			slow, shown = slow || over, q
		}
	}
	v, _ := u.times.Quantile(shown)
	return slow, fmt.Sprintf(" (p%.6g %s)", 100*shown, quantity.Format(v, "ms"))
}

// unjudgedChecks are the checks of the script that no SLO judges.
func unjudgedChecks(p *part) []certificate.Omission {
	judged := p.judging()
	var made, failed int64
	weighs, names := false, []string(nil)
	for _, c := range checksOf(p.evidence, judged, func(part []metric.Label) bool { return !judgedBy(judged, part, ofMetric(metric.Checks)) }) {
		made, failed = made+c.Passes+c.Failures, failed+c.Failures
		weighs = weighs || float64(c.Failures) > weighsChecks*float64(c.Passes+c.Failures)
		if c.Failures > 0 {
			names = append(names, fmt.Sprintf("%q failed %d of %d times", c.Name, c.Failures, c.Passes+c.Failures))
		}
	}
	what := "no SLO judges these checks of the script"
	if len(names) > 0 {
		what += " (" + joinFirst(names, 3) + ")"
	}
	return []certificate.Omission{{What: what, Checks: &made, Failed: &failed, Weighs: weighs}}
}

// pooledClasses are the samples of classes beyond the number that is recorded one by one: an SLO
// judges them only all together.
func pooledClasses(p *part) (all []certificate.Omission) {
	seen := map[string]bool{}
	for _, of := range append(slices.Clone(p.flows), p) {
		e := of.evidence
		for _, s := range pooledOnly(e) {
			if seen[of.flow()+s.Metric] {
				continue
			}
			seen[of.flow()+s.Metric] = true
			n, violated := 0.0, 0.0
			for _, c := range of.classes {
				if c.pool.ID() == s.ID() && selectsOverflow(c.slo) {
					n, violated = n+c.counted.N, violated+c.counted.K
				}
			}
			o := certificate.Omission{
				Flow: of.flow(), Weighs: violated > 0,
				What: fmt.Sprintf("%s: classes beyond the first %d are judged only all together", s.Metric, metric.MaxSeries),
			}
			switch {
			case metric.ProtocolOf(s.Metric) != nil:
				o.Requests = new(int64(n))
			case s.Metric == metric.Checks:
				o.Checks = new(int64(n))
			}
			all = append(all, o)
		}
	}
	return all
}

func selectsOverflow(s spec.SLO) bool {
	return selects(s, metric.OverflowLabel) || selects(s, metric.ForeignOverflowLabel)
}
