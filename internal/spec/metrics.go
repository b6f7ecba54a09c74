// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/metric"
)

// SLOs apply to metrics whose samples can each meet or violate the bound, which is
// what the verdict counts: trends and rates of the load, the ledger, and gauges that
// are read every second. A counter has no such samples: throughput is always judged,
// as completed over scheduled. A gauge of k6 or of a script has too few readings.

// scriptKinds are the types of metrics that a script registers, as k6 names them,
// each with a metric of k6 that takes the same conditions.
var scriptKinds = map[string]string{"trend": metric.RequestDuration, "rate": metric.RequestFailed, "counter": metric.Requests, "gauge": "vus"}

// scriptMetric describes a metric that a script registers.
func scriptMetric(name, typ string) metric.Descriptor {
	d, _ := metric.Find(scriptKinds[typ])
	return metric.Descriptor{Name: name, Kind: d.Kind, SLO: d.SLO}
}

// kindWord is the kind of a metric in k6's words.
func kindWord(k metric.Kind) string {
	if k == metric.Histogram {
		return "trend"
	}
	return k.String()
}

// builtin describes a metric that exists without a script; ok is false for one that a
// script would have to register, and for those that only collectors send.
func builtin(name string) (d metric.Descriptor, ok bool) {
	if d, ok = metric.Find(name); ok && (len(d.SLO) > 0 || d.From(metric.SourceWorker) || d.From(metric.SourceK6)) {
		return d, true
	}
	return metric.Descriptor{}, false
}

// Descriptor is the catalogue's entry of the SLO's metric; empty for one that the
// script registers.
func (s SLO) Descriptor() metric.Descriptor {
	d, _ := builtin(s.Metric)
	return d
}

// OfTransactions reports whether the SLO is on the latency of transactions.
func (s SLO) OfTransactions() bool { return s.Metric == metric.TransactionDuration }

// Latency reports whether the SLO bounds a percentile of a latency of the load, in
// milliseconds. A script's own trend is none: it may measure anything.
func (s SLO) Latency() bool {
	d := s.Descriptor()
	return s.Aggregate == Percentile && s.Kind() == KindSamples && d.Kind == metric.Histogram && d.Unit == UnitMs
}

// anyForm shows the conditions of a metric that is not known yet.
const anyForm = "p(95)<250 or max<1000 on a trend, rate<0.01 on a rate"

// forms shows the conditions that a metric takes; ok is false if it is not known yet.
func forms(d metric.Descriptor, ok bool) string {
	if !ok {
		return anyForm
	}
	return strings.Join(d.SLO, " or ")
}

// takes reports whether a metric takes conditions on the SLO's aggregate.
func (s SLO) takes(d metric.Descriptor) bool {
	return slices.ContainsFunc(d.SLO, func(example string) bool {
		var form SLO
		form.parseExpression(example)
		return form.Aggregate == s.Aggregate && form.Count == s.Count
	})
}

// mismatch says why the aggregate cannot be used with a metric; known is false for
// one that the script would have to register.
func (s SLO) mismatch(d metric.Descriptor, known bool) (problem string) {
	ok, what := s.takes(d), "is a "+kindWord(d.Kind)
	switch {
	case !known:
		ok, what = s.Aggregate != Exact, "has no "+s.Count
	case len(d.SLO) > 0 && d.Kind == metric.Counter:
		what = "is a count"
	case len(d.SLO) > 0 && d.Unit == UnitMs && s.Kind() != KindSamples:
		what = "is a time"
	case d.Kind == metric.Counter:
		return fmt.Sprintf("%s is a counter: SLOs apply to trends and rates (throughput is always judged)", s.Metric)
	case len(d.SLO) == 0 && d.Kind == metric.Gauge:
		return fmt.Sprintf("%s is a gauge: SLOs apply to trends and rates", s.Metric)
	case len(d.SLO) == 0:
		return fmt.Sprintf("%s measures the generator: SLOs apply to the system under test", s.Metric)
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("%s %s: use %s", s.Metric, what, forms(d, known))
}
