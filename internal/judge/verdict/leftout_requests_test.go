package verdict_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// Failures that a script or a profile excuses, transactions that sent nothing and requests
// outside of transactions are listed with their numbers, and weigh where they could have
// changed the verdict.
func TestExcusesAreListed(t *testing.T) {
	c := synthetic.Examples()["pass"]
	c.Plan.Profile.Flows[0].Expected = spec.Expected{HTTP: []int{404, 503, 0}}
	judged := verdict.Judge(c)
	span := judged.Judged[0]
	few, many := 1.0, float64(*judged.Rate.Scheduled)/2
	add := func(second int64, n float64, name string, labels ...string) {
		c.Timeline.Add(metric.Frame{Source: metric.WorkerSource(0), Second: second, Points: []metric.Point{metric.CounterPoint(metric.Of(name, labels...), n)}})
	}
	excused := func(second int64, n float64, protocol, status, by string) {
		add(second, n, metric.ExcusedRequests, "protocol", protocol, "status", status, "by", by)
	}
	excused(span.From, many, "HTTP", "409", metric.ByScript)
	excused(span.To-1, many, "HTTP", "404", metric.ByScript)
	excused(span.From-1, many, "HTTP", "403", metric.ByScript) // before
	excused(span.From, few, "HTTP", "0", metric.ByProfile)
	excused(span.From, many, "HTTP", "404", metric.ByProfile)
	excused(span.From, few, "gRPC", "5", metric.ByScript)
	excused(span.From, many, "gRPC", "14", metric.ByProfile)
	add(span.From, many, metric.ExcusedTransactions, "reason", metric.NoRequest)
	add(span.From, few, metric.ExcusedTransactions, "reason", metric.CaughtError)
	add(span.From, few, metric.ExcusedTransactions, "reason", metric.NoMessage)
	add(span.From-1000, 3, metric.OutsideRequests, "outcome", metric.Completed)
	add(span.From-1000, 1, metric.OutsideRequests, "outcome", metric.Failed)

	v := verdict.Judge(c)
	one, half, both := int64(few), int64(many), int64(2*many)
	halfAndOne := half + one
	want := []certificate.Omission{
		{Reason: "excused-responses", What: "requests with HTTP 404, 409, which the script expects", Requests: &both, Weighs: true},
		{Reason: "excused-responses", What: "requests with HTTP no answer, 404, which the profile expects", Requests: &halfAndOne},
		{Reason: "excused-responses", What: "requests with gRPC 5, which the script expects", Requests: &one},
		{Reason: "excused-responses", What: "requests with gRPC 14, which the profile expects", Requests: &half, Weighs: true},
		{Reason: "caught-errors", What: "completed transactions in which a statement failed, or the script counted an error, and went on", Transactions: &one},
		{Reason: "no-request", What: "completed transactions without a request or a statement that is counted", Transactions: &half, Weighs: true},
		{Reason: "no-message", What: "completed transactions that sent messages by WebSockets, and received none", Transactions: &one},
		{Reason: "outside-transactions", What: "requests outside of transactions, such as those of setup()", Requests: new(int64(4)), Failed: new(int64(1))},
	}
	own := slices.DeleteFunc(slices.Clone(v.LeftOut), func(o certificate.Omission) bool {
		return !slices.ContainsFunc(want, func(w certificate.Omission) bool { return w.Reason == o.Reason })
	})
	if diff := cmp.Diff(want, own); diff != "" {
		t.Error(diff)
	}
	if text := "the profile expects HTTP no answer, 404, 503: such a request has not failed"; !slices.Contains(v.Limitations, text) {
		t.Errorf("no limitation %q: %q", text, v.Limitations)
	}
}
