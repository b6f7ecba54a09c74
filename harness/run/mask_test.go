package run

import (
	"strings"
	"testing"

	"assay/harness/mask"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// A sender that is no worker of ours may put a secret of this process into its labels; what
// the profile selects by stays, so that the verdict does.
func TestFramesOfOthersHoldNoSecret(t *testing.T) {
	mask.AddDSN(`assay:Zq7&x"w@tcp(db.test:3306)/shop`)
	mask.Add("checkout-2026") // a password, and a word of the profile
	r := &run{Options: Options{Profile: spec.Profile{Name: "p", SLOs: []spec.SLO{{Selector: []metric.Label{{Key: "name", Value: "checkout-2026"}}}}}}}
	of := func(source string, values ...string) metric.Frame {
		f := metric.Frame{Source: source}
		for _, v := range values {
			p := metric.CounterPoint(metric.NewSeries("n", "", "name", v), 1)
			p.Exemplars = []metric.Exemplar{{Labels: []metric.Label{{Key: "k", Value: v}}}}
			f.Points = append(f.Points, p)
		}
		return f
	}
	text := func(frames []metric.Frame) (all string) {
		for _, f := range frames {
			for _, p := range f.Points {
				all += f.Source + " " + p.Series.Label("name") + " " + p.Exemplars[0].Labels[0].Value + "\n"
			}
		}
		return all
	}
	given := []metric.Frame{of("worker/0", "masked by itself"), of(metric.SourceService, `Zq7&x"w`, "get"), of(metric.SourceForeign+"/k6", "get", "GET /?q=Zq7%26x%22w", "checkout-2026", "checkout-2026 is one")}
	before := text(given)
	masked, changed := r.maskForeign(given)
	want := strings.NewReplacer(`Zq7&x"w`, "***", "Zq7%26x%22w", "***", "checkout-2026 is", "*** is").Replace(before)
	if got := text(masked); got != want || !changed {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
	if text(given) != before {
		t.Error("the frames of the sender were changed")
	}
	if _, changed := r.maskForeign(masked); changed {
		t.Error("masked twice")
	}
}
