package k6

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.k6.io/k6/v2/metrics"
	"google.golang.org/grpc/codes"

	"assay.dev/assay/internal/load/sql"
	"assay.dev/assay/internal/observe/metric"
)

// call is how requests of which k6 measures little are counted: k6 says how long one took,
// and its status is a tag of that sample.
type call struct {
	*metric.Protocol
	requests *metrics.Metric // nil: k6 itself counts them
	failed   *metrics.Metric
	class    func(status string) string // class of an error
	// ownTag is a tag that a script's requests have, and those that k6 makes for itself, such
	// as reflection, have not; empty: there are none of the latter.
	ownTag string
}

// endedByK6 are the statuses with which k6 ends gRPC calls that it makes for itself: it cancels
// reflection, and tries an older version of it where the server does not implement it.
var endedByK6 = []string{"1", "12"}

// expectedTag is the tag by which a script names the statuses, with commas between them, of
// calls that did not fail, as far as they are answers.
const expectedTag = "expected_status"

// calls are the protocols other than HTTP, by the duration of their requests.
var calls = map[string]*call{
	metric.GRPC.Duration(): {
		Protocol: metric.GRPC, ownTag: "method",
		requests: &metrics.Metric{Name: metric.GRPC.Requests, Type: metrics.Counter},
		failed:   &metrics.Metric{Name: metric.GRPC.Failed, Type: metrics.Rate},
		class: func(status string) string {
			code, _ := strconv.Atoi(status)
			return "gRPC " + codes.Code(code).String()
		},
	},
	metric.WebSocket.Duration(): {
		Protocol: metric.WebSocket,
		failed:   &metrics.Metric{Name: metric.WebSocket.Failed, Type: metrics.Rate},
		class: func(status string) string {
			if status == "" {
				return "WebSocket not opened"
			}
			return "HTTP " + status
		},
	},
}

// keptFor are further tags of single metrics.
var keptFor = map[string][]string{
	metrics.HTTPReqsName:      {"method", "status", "error_code"},
	metric.GRPC.Requests:      {"status"},
	metric.WebSocket.Requests: {"status"},
	sql.ErrorsMetric:          {"class", "code"},
}

// ended are the series that sum k6's metrics by the second in which the iteration or
// request ended.
var ended = map[string]metric.Series{
	metrics.IterationsName:        metric.Of(metric.EndedIterations),
	metrics.IterationDurationName: metric.Of(metric.EndedIterationTime),
	metrics.HTTPReqsName:          metric.Of(metric.EndedRequests),
	metrics.HTTPReqDurationName:   metric.Of(metric.EndedRequestTime),
	metrics.HTTPReqBlockedName:    metric.Of(metric.EndedBlockedTime),
	metric.GRPC.Requests:          metric.Of(metric.EndedRequests),
	metric.GRPC.Duration():        metric.Of(metric.EndedRequestTime),
	metric.WebSocket.Duration():   metric.Of(metric.EndedBlockedTime),
}

// callOf is the call that samples are of, with its end and duration; nil: they are of none.
func (a *aggregate) callOf(all []metrics.Sample) (of *call, end time.Time, took time.Duration) {
	for i := range all {
		s := &all[i]
		if of = a.index.find(s.TimeSeries, a).call; of == nil {
			continue
		}
		end, took = s.Time, duration(s.Value)
		if of.Protocol == metric.WebSocket {
			end = end.Add(took) // k6 books it by its start
		}
		return of, end, took
	}
	return nil, time.Time{}, 0
}

// call adds the samples of a call, and what k6 does not count of it.
func (a *aggregate) call(of *call, all []metrics.Sample, end time.Time, took time.Duration) {
	tags := a.index.last
	added := func(m *metrics.Metric, value float64) {
		all = append(all, metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: m, Tags: tags.tags}, Time: end, Value: value})
	}
	all = slices.Clone(all) // k6 hands the same ones to other outputs
	if of.requests != nil {
		added(of.requests, 1)
	}
	r := requestResult{}
	if of.ownTag == "" || tags.get(of.ownTag) != "" {
		names := tags.get(expectedTag)
		r = a.result(of.Protocol, names != "" && !slices.Contains(strings.Split(names, ","), tags.status) || names == "" && !of.Succeeds(tags.status))
		added(of.failed, boolToFloat(r.failed))
	} else if !slices.Contains(endedByK6, tags.status) {
		r = a.result(of.Protocol, false)
	}
	a.requestEnded(of.Protocol, all, r, end, took)
}
