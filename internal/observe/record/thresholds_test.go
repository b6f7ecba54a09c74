package record

import (
	"path/filepath"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

const askedFor = `{"version": 1, "profiles": {"payment": {"scenario": "pay.js", "load": {"target": 60, "hold": "10s"}, "slo": {
	"transaction_duration": ["p(50)<2000", "max<2000"], "my_ok": ["rate>0.9"]}}}}`

// The plan of a trial may leave out SLOs of the thresholds, which a limitation names. Workers
// count the SLOs of the plan: another one's counter is from a run that had it.
func TestSLOsThatATrialLeavesOut(t *testing.T) {
	file, err := spec.Decode("t.json", []byte(askedFor))
	must(t, err)
	for counted, contradicts := range map[string]bool{"transaction_duration:p(50)<2000": false, "my_ok:rate>0.9": true} {
		p := aPlan()
		p.Profile, p.Scope, p.Overrides = file.Profiles["payment"].WithFlows(func(f *spec.Flow) { f.SLOs = f.SLOs[1:2] }), spec.ScopeTrial, nil
		p.Thresholds = Digest{Path: "t.json", SHA256: file.Digest}
		p.Load, err = plan.New(p.Profile, 2, 1)
		must(t, err)
		dir := filepath.Join(t.TempDir(), "run")
		w, err := Create(dir, p)
		must(t, err)
		facts := someFacts(StateAbsent)
		facts.Workers = []Worker{{Source: "worker/0", Exit: "0"}, {Source: "worker/1", Exit: "0"}}
		must(t, w.Thresholds(file.Text), w.Environment(anEnvironment()),
			w.Frame(at(1, 1, metric.CounterPoint(metric.Of(metric.Judged, "slo", counted), 0))), w.Seal(facts))
		r, err := Open(dir)
		must(t, err)
		if all := r.Facts.Limitations; len(all) != 1 || !strings.HasSuffix(all[0], "by 2 of the SLOs that were asked for: my_ok rate>0.9, transaction_duration max<2000") {
			t.Errorf("limitations: %q", all)
		}
		if all := r.Contradictions; (len(all) > 0) != contradicts || contradicts && !strings.HasSuffix(all[0].What, `it has judged samples by "my_ok:rate>0.9", which is no SLO of the plan`) {
			t.Errorf("%s: %+v", counted, all)
		}
	}
}
