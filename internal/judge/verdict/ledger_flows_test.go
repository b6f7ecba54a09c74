package verdict

import (
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// Each flow has identities of its own form, and its own doubts: those of one hide no loss of
// another one's.
func TestLedgersOfFlowsAreApart(t *testing.T) {
	const uuid, number = "16 bytes, as of a UUID", "3-digit number"
	for name, c := range map[string]struct {
		lost    int64  // by the flow of numbers
		stored  string // form that the query of the flow of UUIDs returns
		want    Outcome
		of      []Outcome
		mention string
	}{
		"each in its form":   {0, uuid, Pass, []Outcome{Pass, Pass}, "sustained"},
		"one in another":     {0, number, Invalid, []Outcome{Invalid, Pass}, "orders: identities differ in form"},
		"and the other lost": {2, number, LostWrite, []Outcome{Invalid, LostWrite}, "lost 2 of 200"},
		"nothing but a loss": {2, uuid, LostWrite, []Outcome{Pass, LostWrite}, "lost 2 of 200"},
	} {
		p := synthetic.Profile()
		slo := synthetic.Percentile(metric.TransactionDuration, 80, 2000)
		p.Flows = []spec.Flow{flowOf("orders", slo), flowOf("views", slo)}
		for i := range p.Flows {
			p.Flows[i].Ledger = &spec.Ledger{Persisted: "SELECT id, at FROM t WHERE run_id = ?"}
		}
		s := withFlows(p, synthetic.Healthy, synthetic.Healthy)
		orders := ledger.Comparison{Acknowledged: 100, Persisted: 100, Lags: map[int64]int64{1: 100}}
		if c.stored == number {
			orders = ledger.Comparison{Acknowledged: 100, Persisted: 100, Missing: 100, Unacknowledged: 100}
		}
		views := ledger.Comparison{Acknowledged: 100, Persisted: 100 - c.lost, Missing: c.lost, Lags: map[int64]int64{1: 100 - c.lost}}
		all := orders
		all.Acknowledged, all.Persisted, all.Missing = 200, orders.Persisted+views.Persisted, orders.Missing+views.Missing
		all.Flows = []ledger.Comparison{orders, views}
		s.Run.Ledger = &all
		s.Run.Facts.Ledger.Forms = []ledger.Forms{{c.stored: 100}, {number: 100 - c.lost}}
		frame := slices.IndexFunc(s.Frames, func(f metric.Frame) bool { return f.Source == metric.WorkerSource(0) && !f.Closing })
		for form, flow := range map[string]string{uuid: "orders", number: "views"} {
			s.Frames[frame].Points = append(s.Frames[frame].Points, metric.CounterPoint(metric.Of(metric.AcknowledgedForms, "form", form, "scenario", flow), 100))
		}
		v := Judge(s.Record())
		if v.Outcome != c.want || !strings.Contains(v.Claim, c.mention) {
			t.Errorf("%s: %s: %s", name, v.Outcome, v.Claim)
		}
		for i, f := range v.Flows {
			if f.Outcome != c.of[i] {
				t.Errorf("%s: flow %s is %s, want %s", name, f.Name, f.Outcome, c.of[i])
			}
		}
		if slices.ContainsFunc(v.LeftOut, func(o certificate.Omission) bool {
			return strings.HasPrefix(o.Reason, "early") || strings.HasPrefix(o.Reason, "repeated")
		}) {
			t.Errorf("%s: %v", name, v.LeftOut)
		}
	}
}
