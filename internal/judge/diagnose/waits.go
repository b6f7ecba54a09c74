// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"math"
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// waitKey identifies a wait, over all statement digests.
type waitKey struct {
	event, class string
	inferred     bool
	client       string // name of the neighbour that waits; empty: the load
}

// waits lists what the database's sessions did in the judged windows, the largest first.
// It is nil if no sample was taken, and empty if no sample showed an active session.
func waits(r record.Run, judged []record.Span) []certificate.Wait {
	who := clientsOf(r, judged)
	hold := sumSamples(r, judged, who)
	if hold.samples == 0 {
		return nil
	}
	base := sumSamples(r, baseline(r), who)
	all := make([]certificate.Wait, 0, len(hold.seen))
	for k, n := range hold.seen {
		if n == 0 {
			continue
		}
		w := certificate.Wait{
			Event: k.event, Class: k.class, Inferred: k.inferred, Client: k.client,
			AAS: n / hold.samples, Share: n / hold.sessions, Samples: int64(math.Round(n)),
		}
		if k.client == "" {
			w.MsPerTransaction, w.BaselineMsPerTransaction = hold.msPerTransaction(n), base.msPerTransaction(base.seen[k])
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b certificate.Wait) int {
		return cmp.Or(
			cmp.Compare(b.AAS, a.AAS), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Event, b.Event), cmp.Compare(a.Client, b.Client),
			cmp.Compare(inferredFirst(a), inferredFirst(b)),
		)
	})
	return all
}

func inferredFirst(w certificate.Wait) int {
	if w.Inferred {
		return 0
	}
	return 1
}

// sampled is the sum of the samples within spans.
type sampled struct {
	samples  float64
	seen     map[waitKey]float64
	sessions float64 // in all waits, added up in the order of the series: the same record has to give the same bytes
	tps      float64 // transactions per second that reached the system
}

// msPerTransaction is D = AAS / TPS for sessions sampled n times; nil if the database was
// not sampled or no transaction ran.
func (s sampled) msPerTransaction(n float64) *float64 {
	if s.samples == 0 || s.tps == 0 {
		return nil
	}
	d := n / s.samples / s.tps * 1000
	return &d
}

// sumSamples adds up the samples of spans. TPS counts every transaction that was started,
// whatever its outcome: Little's law is about all that pass through the database. Dropped
// transactions never reach it.
func sumSamples(r record.Run, spans []record.Span, who clients) sampled {
	s := sampled{seen: map[waitKey]float64{}, samples: sumOver(r.Timeline, metric.DBSample, nil, spans)}
	seconds := int64(0)
	for _, span := range spans {
		seconds += span.Seconds()
	}
	for _, outcome := range []string{metric.Completed, metric.Failed, metric.TimedOut} {
		s.tps += sumOver(r.Timeline, metric.Transactions, []metric.Label{{Key: "outcome", Value: outcome}}, spans)
	}
	s.tps /= float64(max(1, seconds))
	done := map[[4]string]bool{}
	for _, series := range r.Timeline.Series(metric.DBSession) {
		event, class, inferred, client := series.Label("event"), series.Label("class"), series.Label("inferred"), series.Label("client")
		if done[[4]string{event, class, inferred, client}] {
			continue
		}
		done[[4]string{event, class, inferred, client}] = true
		// An empty value selects the series without the label.
		selector := []metric.Label{{Key: "event", Value: event}, {Key: "class", Value: class}, {Key: "inferred", Value: inferred}, {Key: "client", Value: client}}
		n := sumOver(r.Timeline, metric.DBSession, selector, spans)
		s.seen[waitKey{event, class, inferred == "true", who.neighbour(client)}] += n
		s.sessions += n
	}
	return s
}

func baseline(r record.Run) []record.Span {
	if w := r.Plan.Load.Baseline; w != nil {
		return []record.Span{record.SpanOf(r.Facts.T0, *w)}
	}
	return nil
}
