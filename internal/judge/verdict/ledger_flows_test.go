package verdict

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
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

// Whatever the forms, a transaction that has no row of its own is lost, and no doubt makes one of
// fewer rows into none. Losing the record of the forms never helps.
func TestDoubtsNeedRows(t *testing.T) {
	forms := rapid.MapOfN(rapid.SampledFrom([]string{"16 bytes, as of a UUID", "3-digit number", "19-digit number" + ledger.Rounded, "19-digit number" + ledger.Over2to53, ledger.OtherForms}), rapid.Int64Range(1, 500), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		acknowledged := rapid.Int64Range(1, 500).Draw(t, "acknowledged")
		missing := rapid.Int64Range(0, acknowledged).Draw(t, "missing")
		others := rapid.Int64Range(0, 500).Draw(t, "others")
		unclear := rapid.Int64Range(0, missing).Draw(t, "unclear")
		c := ledger.Comparison{Acknowledged: acknowledged, Persisted: acknowledged - missing + others, Missing: missing, Unclear: unclear, Lags: map[int64]int64{1: acknowledged - missing}}
		r := record.Run{Plan: record.Plan{Profile: synthetic.Profile()}, Ledger: &c, Timeline: record.NewTimeline()}
		bare := lostWrites(r)
		r.Facts.Ledger.Forms = []ledger.Forms{forms.Draw(t, "stored")}
		var points []metric.Point
		for form, n := range forms.Draw(t, "forms") {
			points = append(points, metric.CounterPoint(metric.Of(metric.AcknowledgedForms, "form", form, "scenario", "synthetic"), float64(n)))
		}
		r.Timeline.Add(metric.Frame{Source: "worker/0", Sequence: 1, Second: synthetic.T0.Unix(), Points: points})
		lost := lostWrites(r)
		if lost < missing-unclear-others || lost < 0 || lost > missing || bare < lost {
			t.Fatalf("%d lost, without forms %d: %+v", lost, bare, c)
		}
	})
}
