//go:build long

package run_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// A step of the load exceeds the capacity of the service until a further instance has
// booted: the diagnosis names the service, and says since when it had enough workers.
func TestLongServiceThatNeedsTimeToGrow(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	// 10/s, then 20/s; on a busy machine, on which a request takes 100 ms longer, still more than
	// the 14/s of the load.
	const most, boot, after = 8, 7 * time.Second, time.Second
	expect(t, verdict.Fail, func(t *testing.T) verdict.Verdict {
		s := serve(t, "mysql", "--capacity", "4", "--capacity-max", "8", "--boot", "7s", "--scale-after", "1s", "--scale-down-after", "1m", "--work", "400ms")
		o := s.profile(t, "ingestion", spec.Load{
			Unit: "rps", Even: true, Target: 14, Warmup: 2 * time.Second, Baseline: spec.Baseline{Rate: 3, For: 6 * time.Second}, Hold: 30 * time.Second, Cooldown: time.Second,
		})
		o.Profile.Flows[0].SLOs = []spec.SLO{{Metric: metric.TransactionDuration, Expression: "p(90)<1500", Aggregate: spec.Percentile, Quantile: 0.9, Operator: "<", Bound: 1500}}
		r := certify(t, o)
		v := verdict.Judge(r)
		span := whole(r)
		capacity, known := r.Timeline.Gauge(metric.ServiceCapacity, nil, metric.SourceService, span)
		waiting, _ := r.Timeline.Gauge(metric.ServiceWaiting, nil, metric.SourceService, span)
		if v.Outcome != verdict.Fail {
			t.Logf("the capacity was %v, and %v requests waited", capacity, waiting)
			return v
		}
		// A collector that lacks CPU time reads nothing: then the run shows nothing of the capacity.
		unread := 0
		for _, read := range known[:judged(r).To-span.From] {
			if !read {
				unread++
			}
		}
		if int64(10*unread) > judged(r).To-span.From {
			t.Logf("the service was not read in %d seconds: %v", unread, known)
			v.Outcome = verdict.Inconclusive
			return v
		}
		step, grew := judged(r).From-span.From, int64(slices.Index(capacity, most))
		if grew < 0 || time.Duration(grew-step+1)*time.Second < after+boot {
			t.Errorf("the capacity was %v, known %v; the step was in second %d", capacity, known, step)
		} else if slices.Max(waiting[step:grew]) == 0 {
			t.Errorf("nobody waited until second %d: %v", grew, waiting)
		}
		if end := judged(r).To - span.From; slices.Min(waiting[end-5:end]) > 2 {
			t.Errorf("requests still wait at the end: %v", waiting)
		}
		// A stalled machine may have a few wait before the step, too.
		if grew > step && 2*slices.Max(waiting[:step]) > slices.Max(waiting[step:grew]) {
			t.Errorf("before the step %v requests waited, and %v until the capacity grew", waiting[:step], waiting[step:grew])
		}
		b := diagnose.Of(r, v).Bottleneck
		// On a machine on which the generator lacks CPU it may only be the leading candidate.
		named := b.Component == diagnose.Service && strings.Contains(b.Sentence, "requests wait for a free worker of the service") ||
			b.Component == diagnose.Undetermined && strings.Contains(b.Sentence, " "+diagnose.Service+", with ")
		said := slices.ContainsFunc(b.Evidence, func(text string) bool {
			return strings.Contains(text, "its capacity was 4, with") && strings.Contains(text, "it grew to 8 at ")
		})
		if !named || !said {
			t.Errorf("%s\n%q", b.Sentence, b.Evidence)
		}
		queued, _ := r.Timeline.Sum(metric.ServiceQueueTime, nil, record.All)
		served, _ := r.Timeline.Sum(metric.ServiceRequestTime, nil, record.All)
		if queued <= 0 || queued > served {
			t.Errorf("requests waited %g ms, of %g ms in the service", queued, served)
		}
		t.Log(b.Sentence, b.Evidence)
		return v
	})
}
