package k6

import (
	"cmp"
	"errors"
	"slices"

	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/sql"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/metric"
)

// httpFailed is k6's rate of failed requests, for those of which k6 does not report it: the
// script has set the callback that decides to null.
var httpFailed = &metrics.Metric{Name: metrics.HTTPReqFailedName, Type: metrics.Rate}

// errForeignVU ends a run: the failure of a request would not be that of its transaction.
var errForeignVU = errors.New("a request is of a VU without a transaction: the script sets the tag " + arrivals.VUTag)

// result is whether the request whose tags are the last ones found has failed. What was on the
// wire decides, whatever the script says of it; a profile may expect it all the same.
// scriptSays: the script calls it a failure, as it may any status.
func (a *aggregate) result(of *metric.Protocol, scriptSays bool) (r requestResult) {
	tags := a.index.last
	switch fails := tags.status != "" && !of.Succeeds(tags.status) || of.Fails(tags.status); {
	case fails && a.index.expected(tags, of):
		r.excused = a.index.excuse(tags, of, metric.ByProfile)
	case scriptSays || of.Fails(tags.status):
		r.failed = true
	case fails:
		r.excused = a.index.excuse(tags, of, metric.ByScript)
	}
	return r
}

// expected reports whether the profile expects the status of a request.
func (c *seriesIndex) expected(tags *tagSet, of *metric.Protocol) bool {
	i := c.flowOf(tags)
	return i != outside && c.flows[i].Expected.Has(of, tags.status)
}

// excuse is the series of requests that have not failed although their status is a failure.
// All statuses beyond the limit on series are one.
func (c *seriesIndex) excuse(tags *tagSet, of *metric.Protocol, by string) *int {
	return new(c.counter(metric.MaxSeries, tags.status, metric.ErrorOther, func(status string) metric.Series {
		return metric.Of(metric.ExcusedRequests, "protocol", of.Name, "status", status, "by", by, "scenario", maskTag(tags.scenario))
	}))
}

// withFailure are the samples of an HTTP request with its failure as we count it. k6 hands the
// same ones to other outputs.
func withFailure(all []metrics.Sample, failed bool) []metrics.Sample {
	value := boolToFloat(failed)
	for i := range all {
		if all[i].Metric.Name == metrics.HTTPReqFailedName {
			if all[i].Value != value {
				all = slices.Clone(all)
				all[i].Value = value
			}
			return all
		}
	}
	first := all[0]
	return append(slices.Clip(all), metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: httpFailed, Tags: first.Tags}, Time: first.Time, Metadata: first.Metadata, Value: value,
	})
}

// outsideRequest counts a request that belongs to no transaction.
func (a *aggregate) outsideRequest(second int64, failed bool) {
	outcome := metric.Completed
	if failed {
		outcome = metric.Failed
	}
	a.bucket(second).count(a.index.add(metric.Of(metric.OutsideRequests, "outcome", outcome), metric.Counter), 1)
}

// statement counts a statement of k6/x/sql in its transaction, and its error.
func (a *aggregate) statement(s sql.Reported) {
	name, ok := s.Tags.Get(arrivals.VUTag)
	if !ok {
		return
	}
	v := a.vu(name)
	if v.sent = true; s.Class == "" || !v.inTransaction {
		return
	}
	v.classified = true
	class := a.index.errorClass(v.scenario, metric.AtScript, mask.Cut(maskTag(s.Class), maxClassBytes))
	a.bucket(v.second).count(class, 1)
	v.noteError(class)
}

// unconnected fails the transaction of a VU that could not open a connection.
func (a *aggregate) unconnected(v *vu, c arrivals.Wait) {
	if !v.inTransaction {
		return
	}
	v.failed, v.sent = true, true
	v.systemFailed = v.systemFailed || c.Lacked == ""
	v.lacks(c.Lacked)
	i := a.index.errorClass(v.scenario, metric.AtClient, cmp.Or(c.Lacked, requestClass(0, c.Failed, "")))
	a.bucket(v.second).count(i, 1)
	v.noteError(i)
}
