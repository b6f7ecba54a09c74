package diagnose

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/synthetic"
)

// waitsOf judges and diagnoses a run, and returns its waits.
func waitsOf(r record.Run) []certificate.Wait { return Of(r, verdict.Judge(r)).Waits }

func TestWaits(t *testing.T) {
	got := waitsOf(synthetic.New(synthetic.Profile(), 2, synthetic.Healthy).Record())
	ms := func(v float64) *float64 { return &v }
	// 10 samples per second: 5 sessions in commits are 0.5 AAS, which at 20 transactions
	// per second is 25 ms each; 2 sessions at the baseline's 5 per second are 40 ms.
	want := []certificate.Wait{
		{
			Event: "io/file/innodb/innodb_log_file", Class: "commit", AAS: 0.5, Share: 5.0 / 6, Samples: 150,
			MsPerTransaction: ms(25), BaselineMsPerTransaction: ms(40),
		},
		{
			Event: "cpu", Class: "CPU", Inferred: true, AAS: 0.1, Share: 1.0 / 6, Samples: 30,
			MsPerTransaction: ms(5), BaselineMsPerTransaction: ms(0),
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

func TestWaitsOfEveryStartedTransaction(t *testing.T) {
	half := func(n int64) (float64, string) {
		return 100, []string{metric.Failed, metric.Dropped}[n%2]
	}
	for _, w := range waitsOf(synthetic.New(synthetic.Profile(), 1, half).Record()) {
		if w.Class == "commit" && math.Abs(*w.MsPerTransaction-50) > 1e-9 {
			t.Errorf("10 started per second at 0.5 AAS are 50 ms each, not %g", *w.MsPerTransaction)
		}
	}
}

func TestNoWaitsIsNotZeroWaits(t *testing.T) {
	c := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
	all := c.Frames
	c.Frames = nil
	for _, f := range all {
		if f.Source != "database" {
			c.Frames = append(c.Frames, f)
		}
	}
	if got := waitsOf(c.Record()); got != nil {
		t.Errorf("without samples waits are nil, not %v", got)
	}
	r := c.Run
	if got := waitsOf(r); got != nil {
		t.Errorf("without a timeline waits are nil, not %v", got)
	}
	for _, f := range all {
		if f.Source == "database" {
			f.Points = []metric.Point{metric.CounterPoint(metric.NewSeries(metric.DBSample, ""), 10)}
			c.Frames = append(c.Frames, f)
		}
	}
	if got := waitsOf(c.Record()); got == nil || len(got) != 0 {
		t.Errorf("samples without an active session are an empty list, not %v", got)
	}
	c = synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
	c.Run.Plan.Load.Baseline = nil
	for _, w := range waitsOf(c.Record()) {
		if w.BaselineMsPerTransaction != nil || w.MsPerTransaction == nil {
			t.Errorf("without a baseline: %+v", w)
		}
	}
}
