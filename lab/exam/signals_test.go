//go:build long

package exam

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// phase is the baseline or the hold of a record.
type phase struct {
	record.Run
	span    record.Span
	started float64 // number of transactions that were not dropped
}

func phases(r record.Run) (base, hold phase) {
	of := func(span record.Span) phase {
		p := phase{Run: r, span: span}
		for _, outcome := range []string{metric.Completed, metric.Failed, metric.TimedOut} {
			p.started += p.sum(metric.Transactions, "outcome", outcome)
		}
		return p
	}
	return of(record.SpanOf(r.Facts.T0, *r.Plan.Load.Baseline)), of(record.SpanOf(r.Facts.T0, r.Plan.Load.Judged[0]))
}

func (p phase) sum(name string, labels ...string) float64 {
	total, _ := p.Timeline.Sum(name, metric.NewSeries(name, "", labels...).Labels, p.span)
	return total
}

// perTx is a sum divided by the number of transactions.
func (p phase) perTx(name string, labels ...string) float64 {
	return p.sum(name, labels...) / p.started
}

func (p phase) mean(name string, labels ...string) float64 {
	h := p.Timeline.Hist(name, metric.NewSeries(name, "", labels...).Labels, p.span)
	return h.Sum() / float64(h.Count())
}

func (p phase) level(source, name string, labels ...string) float64 {
	values, ok := p.Timeline.Gauge(name, metric.NewSeries(name, "", labels...).Labels, source, p.span)
	total, n := 0.0, 0
	for i, v := range values {
		if ok[i] {
			total += v
			n++
		}
	}
	return total / float64(n)
}

// signals lists the measurements in a record that show where the time went, at the
// baseline and in the hold.
func signals(r record.Run) string {
	base, hold := phases(r)
	var text strings.Builder
	line := func(name string, of func(phase) float64) {
		b, h := of(base), of(hold)
		if b != 0 || h != 0 {
			fmt.Fprintf(&text, "\n  %-58s %10.4g %10.4g", name, b, h)
		}
	}
	fmt.Fprintf(&text, "signals %48s %10s %10s", "", "baseline", "hold")
	seconds := func(p phase) float64 { return float64(p.span.Seconds()) }
	line("tps started", func(p phase) float64 { return p.started / seconds(p) })
	line("transaction ms", func(p phase) float64 { return p.mean(metric.TransactionDuration) })
	for _, outcome := range metric.Outcomes {
		line("share "+outcome, func(p phase) float64 {
			return p.sum(metric.Transactions, "outcome", outcome) / p.sum(metric.TransactionsScheduled)
		})
	}
	line("arrival queueing ms", func(p phase) float64 { return p.mean(metric.ArrivalQueueing) })
	line("generator lag ms", func(p phase) float64 { return p.mean(metric.GeneratorLag) })
	line("generator late share", func(p phase) float64 { return p.sum(metric.GeneratorDisplaced) / p.sum(metric.TransactionsScheduled) })
	line("worker CPUs used", func(p phase) float64 { return p.sum(metric.WorkerCPU) / seconds(p) })
	line("worker CPUs waited for", func(p phase) float64 { return p.sum(metric.WorkerRunQueue) / seconds(p) })
	for _, name := range []string{"http_req_duration", "http_req_waiting", "http_req_connecting", "http_req_blocked"} {
		for _, of := range []string{"pay", "get_payment"} {
			line(name+" "+of+" ms", func(p phase) float64 { return p.mean(name, "name", of) })
		}
	}
	line("pool waits /tx", func(p phase) float64 { return p.perTx(metric.ServicePoolWaits) })
	line("pool wait ms/tx", func(p phase) float64 { return p.perTx(metric.ServicePoolWaitTime) })
	line("service queries /tx", func(p phase) float64 { return p.perTx(metric.ServiceQueries) })
	line("service query ms/tx", func(p phase) float64 { return p.perTx(metric.ServiceQueryTime) })
	line("pool in use", func(p phase) float64 { return p.level("service", metric.ServicePoolInUse) })
	line("pool open", func(p phase) float64 { return p.level("service", metric.ServicePoolOpen) })
	line("statements /tx", func(p phase) float64 { return p.perTx(metric.DBStatements) })
	line("statement ms/tx", func(p phase) float64 { return p.perTx(metric.DBStatementTime) })
	line("database samples /s", func(p phase) float64 { return p.sum(metric.DBSample) / seconds(p) })
	line("database sample took ms", func(p phase) float64 { return p.mean(metric.DBSampleTime) })
	line("AAS", func(p phase) float64 { return p.sum(metric.DBSession) / p.sum(metric.DBSample) })
	waits := diagnose.Of(r, verdict.Judge(r)).Waits
	slices.SortFunc(waits, func(a, b certificate.Wait) int { return cmp.Compare(a.Class, b.Class) })
	for _, w := range waits {
		name := "wait ms/tx: " + w.Class + " " + w.Event
		if w.Inferred {
			name += " (inferred)"
		}
		values := []*float64{w.BaselineMsPerTransaction, w.MsPerTransaction}
		line(name, func(p phase) float64 {
			v := values[0]
			if p.span == hold.span {
				v = values[1]
			}
			if v == nil {
				return 0
			}
			return *v
		})
	}
	for _, s := range r.Timeline.Series(metric.DBCounter) {
		name := s.Label("name")
		line("counter /tx: "+name, func(p phase) float64 { return p.perTx(metric.DBCounter, "name", name) })
	}
	for _, s := range r.Timeline.Series(metric.DBGauge) {
		name := s.Label("name")
		line("level: "+name, func(p phase) float64 { return p.level("database", metric.DBGauge, "name", name) })
	}
	for _, mode := range []string{"user", "nice", "system", "idle", "iowait", "steal"} {
		line("host CPUs "+mode, func(p phase) float64 { return p.sum(metric.HostCPU, "mode", mode) / seconds(p) })
	}
	for _, s := range r.Timeline.Series(metric.ProcessCPU) {
		name := s.Label("process")
		line("process CPUs "+name, func(p phase) float64 { return p.sum(metric.ProcessCPU, "process", name) / seconds(p) })
	}
	for _, s := range r.Timeline.Series(metric.ProcessRunQueue) {
		name := s.Label("process")
		line("process CPUs waited for "+name, func(p phase) float64 { return p.sum(metric.ProcessRunQueue, "process", name) / seconds(p) })
		line("process CPU wait ms/tx "+name, func(p phase) float64 { return 1000 * p.perTx(metric.ProcessRunQueue, "process", name) })
		line("process CPU wait to use "+name, func(p phase) float64 {
			return p.sum(metric.ProcessRunQueue, "process", name) / p.sum(metric.ProcessCPU, "process", name)
		})
	}
	for _, s := range r.Timeline.Series(metric.DBBlocker) {
		name := s.Label("class") + " " + s.Label("event")
		line("blocker waiters /s: "+name, func(p phase) float64 {
			return p.sum(metric.DBBlocker, "class", s.Label("class"), "event", s.Label("event")) / seconds(p)
		})
	}
	type statement struct{ digest, text string }
	var all []statement
	for _, s := range r.Timeline.Series(metric.DBStatementTime) {
		all = append(all, statement{s.Label("digest"), s.Label("statement")})
	}
	took := func(s statement, p phase) float64 {
		return p.perTx(metric.DBStatementTime, "digest", s.digest, "statement", s.text)
	}
	slices.SortFunc(all, func(a, b statement) int { return cmp.Compare(took(b, hold), took(a, hold)) })
	for _, s := range all[:min(len(all), 5)] {
		line("statement ms/tx: "+s.text[:min(len(s.text), 40)], func(p phase) float64 { return took(s, p) })
	}
	return text.String()
}
