package verdict_test

import (
	"strings"
	"testing"

	"assay.dev/assay/certificate"
	. "assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// The number of attempts is shown; what others before it have shown is in the claim, and that
// it is not known is a limitation and left out.
func TestAttempts(t *testing.T) {
	service := &record.Service{Builds: []certificate.Build{{Metric: "app_build_info"}}}
	for name, c := range map[string]struct {
		attempts              int
		earlier               *record.Earlier
		service               *record.Service
		scope                 string
		claim, detail, limits string
		omitted               bool
	}{
		"the first": {attempts: 1, earlier: &record.Earlier{}, service: service, detail: "attempt 1 at this revision of the service"},
		"all passed": {
			attempts: 3, earlier: &record.Earlier{Verdicts: []record.Verdicts{{Verdict: "PASS", Runs: 2}}, Same: 2},
			detail: "attempt 3 at this target, whose revision is not known, after 2 PASS",
		},
		"others did not": {
			attempts: 5, earlier: &record.Earlier{Verdicts: []record.Verdicts{{Verdict: "FAIL", Runs: 2}, {Verdict: "PASS", Runs: 1}, {Runs: 1}}, Same: 1}, service: service,
			claim:  "; attempt 5 at this revision of the service, after 2 FAIL, 1 PASS and 1 without a verdict, 1 of them with the same load, SLOs and scripts",
			limits: "a PASS after others shows less than one at the first attempt",
		},
		"not known":  {earlier: &record.Earlier{Unknown: "read-only"}, limits: "the number of attempts is not known: read-only", omitted: true},
		"no record":  {limits: "the number of attempts is not known", omitted: true},
		"damaged":    {attempts: 1, earlier: &record.Earlier{Unread: 2}, limits: "there may be more attempts: 2 lines", omitted: true},
		"of a trial": {scope: spec.ScopeTrial, detail: "a trial is no attempt"},
	} {
		t.Run(name, func(t *testing.T) {
			s := synthetic.New(synthetic.Profile(), 1, func(int64) (float64, string) { return 1, metric.Completed })
			s.Run.Facts.Attempts, s.Run.Facts.Earlier, s.Run.Environment.Service = c.attempts, c.earlier, c.service
			if c.scope != "" {
				s.Run.Plan.Scope = c.scope
			}
			v := Judge(s.Record())
			if v.Outcome != Pass {
				t.Fatal(v.Claim)
			}
			if got := strings.Contains(v.Claim, "attempt"); got != (c.claim != "") || !strings.Contains(v.Claim, c.claim) {
				t.Errorf("claim %q, want %q", v.Claim, c.claim)
			}
			for _, r := range v.Rules {
				if r.ID == "attempts" && !strings.Contains(r.Detail, c.detail) {
					t.Errorf("detail %q, want %q", r.Detail, c.detail)
				}
			}
			limits := ""
			for _, l := range v.Limitations {
				if strings.Contains(l, "attempt") {
					limits += l + "\n"
				}
			}
			if (limits == "") != (c.limits == "") || !strings.Contains(limits, c.limits) {
				t.Errorf("limitations %q, want %q", limits, c.limits)
			}
			omitted := false
			for _, o := range v.LeftOut {
				omitted = omitted || o.Reason == "attempts-unknown"
			}
			if omitted != c.omitted {
				t.Errorf("left out: %+v", v.LeftOut)
			}
		})
	}
}
