package k6

import (
	"errors"
	"slices"
	"time"

	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/reach"
	"assay.dev/assay/internal/load/sql"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
)

// request adds the samples of one HTTP request.
func (a *aggregate) request(c *httpext.Trail) {
	reach.Of.Request(c.ConnRemoteAddr)
	if all := c.GetSamples(); len(all) > 0 {
		a.index.find(all[0].TimeSeries, a)
		// A VU waits for its requests, and k6 reports none that is interrupted.
		if v := a.index.last.vu; v != nil && !v.inTransaction {
			a.refused = errForeignVU
		}
		r := a.result(metric.HTTP, c.Failed.Valid && c.Failed.Bool)
		a.requestEnded(metric.HTTP, withFailure(all, r.failed), r, c.EndTime, c.Blocked+c.Duration) // the time blocked includes that of connecting
	}
}

// requestEnded adds the samples of one request, whose tags are the last ones found.
func (a *aggregate) requestEnded(of *metric.Protocol, all []metrics.Sample, r requestResult, at time.Time, took time.Duration) {
	tags, second := a.index.last, a.second(at)
	if v := tags.vu; v != nil && v.inTransaction {
		second = v.second
		end := at.Sub(a.t0)
		v.open, v.calls = lengthened(v.open, span{end - took, end}), v.calls || of != metric.HTTP
		r.stalled = v.stalls.Share(end-took, end, nil, wakeups, a.now)
		if r.failed {
			a.blame(of, v, tags, took, &r)
		}
		if v.request(end, r, tags.redirect && !a.redirects) {
			i := a.index.errorClass(tags.scenario, metric.AtClient, metric.ErrorRedirects)
			a.bucket(second).count(i, 1)
			v.noteError(i)
		}
	} else {
		a.outsideRequest(second, r.failed)
	}
	if r.excused != nil {
		a.bucket(second).count(*r.excused, 1)
	}
	if r.failed {
		class := a.index.requestClass(tags, of)
		if r.lacked != "" {
			class = a.index.errorClass(tags.scenario, metric.AtClient, r.lacked)
		}
		a.bucket(second).count(class, 1)
		if tags.vu != nil {
			tags.vu.noteError(class)
		}
	}
	for i := range all {
		a.sample(&all[i], &r)
	}
}

// blame tells whether the generator is to blame for a failed request of a transaction: what it
// has not got, what its script asks for, or a stall of its, for a tenth of the time or more, without
// which there may have been an answer. k6 does not say what a call of other protocols than HTTP
// failed of, but its connection has failed before it.
func (a *aggregate) blame(of *metric.Protocol, v *vu, tags *tagSet, took time.Duration, r *requestResult) {
	unanswered := slices.Contains(of.Unanswered, tags.status)
	class := a.index.series[a.index.requestClass(tags, of)].Label("class")
	switch {
	case isLack(class):
		r.lacked = class
	case unanswered && of != metric.HTTP:
		r.lacked = v.lacked
	}
	v.lacked = ""
	r.misasked = class == metric.ErrorRequest && v.redirects == 0 // the system says where a redirect leads
	r.byGenerator = r.lacked != "" || r.misasked || r.stalled > 0 && 10*r.stalled >= took && unanswered
	v.lacks(r.lacked)
}

// largest is the value for which a script's endless one counts, as it divides by 0: neither
// it nor a sum of it has a place in a certificate.
const largest = 1e300

// sample counts a sample in the second in which its VU's transaction was scheduled,
// or, outside of a transaction, in its own second. of is the request that it
// measures, or nil.
func (a *aggregate) sample(s *metrics.Sample, of *requestResult) {
	to := a.index.find(s.TimeSeries, a)
	v := a.index.last.vu
	if v != nil && v.inTransaction && of == nil && to.waits {
		v.open, v.calls = lengthened(v.open, a.waited(s, v)), true
	}
	if of == nil && v.defers(s, to) {
		v.deferred = append(v.deferred, *s)
		return
	}
	second, value := a.second(s.Time), min(max(s.Value, -largest), largest)
	if to.span && v != nil {
		value -= a.pausedMs(s, v)
	}
	if to.ended >= 0 {
		a.bucket(second).count(to.ended, value)
	}
	if v != nil && v.inTransaction {
		second = v.second
		if s.Metric.Name == metric.IterationDuration {
			v.named = a.index.last.get("name")
		}
		v.bytes = v.bytes || to.sends && value > 0
		v.checkFailed = v.checkFailed || to.check && value == 0
	}
	if v != nil {
		v.sent = v.sent || to.sent
		v.asked = v.asked || to.message
		v.heard = v.heard || to.message && s.Metric.Name == metrics.WSMessagesReceivedName
	}
	b := a.bucket(second)
	*to.total++
	switch to.kind {
	case metrics.Rate:
		b.count(to.index, 1)
		b.count(to.occurred, boolToFloat(value != 0))
	case metrics.Trend:
		b.observe(to.index, value)
	case metrics.Gauge:
		b.set(to.index, value)
	default:
		b.count(to.index, value)
		if to.class >= 0 {
			b.count(to.class, value)
		}
		switch s.Metric.Name {
		case acknowledgedMetric:
			a.acknowledge(s, to.flow)
		case metric.ErrorsByClass, sql.ErrorsMetric:
			if v != nil {
				v.classified = true
				class := to.class
				if class < 0 { // the counter is by class itself
					class = to.index
				}
				v.noteError(class)
				if of := a.index.series[class].Label("class"); s.Metric.Name == sql.ErrorsMetric && isLack(of) {
					v.lacked = of
				}
			}
		}
	}
	if len(to.slos) == 0 {
		return
	}
	failed, byGenerator, cleared := false, false, value
	switch {
	case of == nil && v != nil && v.inTransaction && to.kind == metrics.Rate:
		byGenerator = v.failedByGenerator() // e.g. a check of a missing response
	case of != nil && to.kind == metrics.Rate && of.byGenerator:
		cleared = 0
	case of != nil && to.kind == metrics.Trend:
		failed = of.failed && metric.IsRequestTime(s.Metric.Name)
		cleared = max(0, value-milliseconds(of.stalled))
	case v != nil && v.inTransaction && to.kind == metrics.Trend && s.Metric.Contains == metrics.Time:
		cleared = max(0, value-a.excusedMs(s, v, to.span))
	}
	for _, i := range to.slos {
		slo := &a.index.slos[i]
		measured := failed || slo.Violates(value)
		if measured && v != nil && v.inTransaction {
			v.noteViolation(i)
		}
		slo.judge(b, measured, !byGenerator && (failed && !of.byGenerator || slo.Violates(cleared)))
	}
}

// pausedMs is how much of the time that a sample measured its VU paused.
func (a *aggregate) pausedMs(s *metrics.Sample, v *vu) float64 {
	end := s.Time.Sub(a.t0)
	return milliseconds(arrivals.PausedIn(v.pauses, end-duration(s.Value), end))
}

// excusedMs is how much of the time that a sample measured the generator is to blame for, in a
// span without the pauses.
func (a *aggregate) excusedMs(s *metrics.Sample, v *vu, span bool) float64 {
	var pauses []arrivals.Pause
	if span {
		pauses = v.pauses
	}
	end := s.Time.Sub(a.t0)
	return milliseconds(a.excused(v, v.stalls, end-duration(s.Value), end, pauses))
}

// defers reports whether a sample of a time waits for the end of its transaction: what is a pause
// in it, or the work of the script, is not known before.
func (v *vu) defers(s *metrics.Sample, to *mapping) bool {
	return v != nil && v.inTransaction && !v.settled && to.kind == metrics.Trend && s.Metric.Contains == metrics.Time &&
		(len(to.slos) > 0 || to.span && len(v.pauses) > 0)
}

// waited is the time that a sample of one of waitTimes measured. k6/ws books a session by its
// start, which is that of its opening, and k6/websockets by its end.
func (a *aggregate) waited(s *metrics.Sample, v *vu) span {
	at, took := s.Time.Sub(a.t0), duration(s.Value)
	if s.Metric.Name == sessionTime && slices.ContainsFunc(v.open, func(of span) bool { return of.from == at }) {
		return span{at, at + took}
	}
	return span{at - took, at}
}

// judge counts a sample of an SLO, whether it violates the SLO as measured, and
// whether it still does when cleared of the generator's share.
func (slo *judgedSLO) judge(b *bucket, measured, cleared bool) {
	b.count(slo.judged, 1)
	b.count(slo.broken, boolToFloat(measured))
	b.count(slo.cleared, boolToFloat(measured && cleared))
}

func boolToFloat(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// errStray ends a run: what was acknowledged could not be compared.
var errStray = errors.New("ack() was called in setup() or teardown(): in a profile with flows only their transactions have a ledger")

// errRounded ends a run: the identities are not those of the target.
var errRounded = errors.New("ack() was given a Number that JavaScript has rounded, being over 2^53: acknowledge a string or a BigInt, taken from the text of the response")

// acknowledge keeps an identity for the ledger of its flow. One that belongs to no flow
// would be in no ledger, or missing in another flow's.
func (a *aggregate) acknowledge(s *metrics.Sample, flow int) {
	id, ok := s.Metadata[acknowledgedKey]
	switch {
	case !ok:
	case flow == outside:
		if slices.ContainsFunc(a.index.flows, func(f Flow) bool { return f.Ledger }) {
			a.refused = errStray
		}
	case a.index.flows[flow].Ledger:
		if _, rounded := s.Metadata[roundedKey]; rounded {
			a.refused = errRounded
		}
		a.bucket(a.second(s.Time)).count(a.index.form(a.index.flows[flow].Scenario, ledger.Form(id)), 1)
		a.entries = append(a.entries, ledger.Entry{Hash: ledger.HashOf(a.run, id), Millis: a.onCommonClock(s.Time).UnixMilli(), Flow: flow})
	}
}
