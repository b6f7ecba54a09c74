package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/judge/sealed"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
)

// nextStep is the one thing to do after a certified run.
func nextStep(o run.Options, r sealed.Result) string {
	switch r.Verdict.Outcome {
	case verdict.Pass:
		return afterPass(o.File, o.Profile.Name, o.Dir)
	case verdict.Inconclusive:
		if found, err := forecastOf(o.Profile, o.Workers, o.Scope, o.Runs); err == nil {
			if hold, ok := longerHold(o.Profile, found); ok {
				return fmt.Sprintf("hold longer: assay certify %s --hold %s", o.Profile.Name, hold)
			}
		}
		return "hold longer, raise the rate, or use a lower percentile"
	case verdict.Invalid:
		for _, rule := range r.Verdict.Rules {
			if rule.Outcome == verdict.Invalid {
				return rule.ID + ": " + rule.Advice
			}
		}
	}
	if found := diagnose.Of(r.Record, r.Verdict).Bottleneck; found != nil && len(found.Confirm) > 0 {
		return fmt.Sprintf("see why it failed: assay diagnose %s; then confirm it: assay experiment scenarios/experiments/%s.json", o.Dir, found.Confirm[0])
	}
	return "see why it failed: assay diagnose " + o.Dir
}

// afterPass suggests, after a smoke run, the certificate profile of the same flow;
// after an unsigned certificate, to sign it; otherwise a search for the highest rate.
func afterPass(file spec.File, name, dir string) string {
	longer, flow := name+"-certificate", strings.TrimSuffix(name, "-certificate")
	if _, ok := file.Profiles[longer]; ok {
		return "certify at 95 % confidence, with a longer hold: assay certify " + longer
	}
	_, err := os.Stat(filepath.Join(dir, issue.BundleFile))
	if flow != name && err != nil {
		return "sign certificates: assay keygen keys; export ASSAY_SIGNING_KEY=keys/assay.key"
	}
	p, ok := file.Profiles[flow]
	if !ok {
		flow, p = name, file.Profiles[name]
	}
	if p.Named() {
		return "find the highest rate within the SLOs: assay certify " + flow + " --headroom"
	}
	return "find the highest rate within the SLOs: assay search " + flow
}
