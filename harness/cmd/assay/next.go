package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"assay/harness/judge/diagnose"
	"assay/harness/judge/issue"
	"assay/harness/judge/verdict"
	"assay/harness/run"
	"assay/harness/spec"
)

// tellNext prints what to open of the runs, and what to do next: of the first that
// is not PASS the one thing that helps, else what a PASS leads to.
func (f *certifyFlags) tellNext(w io.Writer, file spec.File, runs []run.Options, all []judged) error {
	var b strings.Builder
	for _, o := range runs[:len(all)] {
		fmt.Fprintf(&b, "open  %s\n", filepath.Join(o.Dir, "certificate.html"))
	}
	next := ""
	for i, j := range all {
		if j.verdict.Outcome != verdict.Pass {
			next = f.mend(runs[i], j)
			break
		}
	}
	if next == "" {
		next = afterPass(file, runs[len(all)-1])
	}
	fmt.Fprintf(&b, "next  %s\n", next)
	_, err := io.WriteString(w, b.String())
	return err
}

// mend is the one thing to do about a run that is not PASS.
func (f *certifyFlags) mend(o run.Options, j judged) string {
	switch j.verdict.Outcome {
	case verdict.Inconclusive:
		if found, err := f.forecasts(o.Profile); err == nil {
			if hold, ok := longerHold(o.Profile, found); ok {
				return fmt.Sprintf("hold longer: assay certify %s --hold %s", o.Profile.Name, hold)
			}
		}
		return "hold longer, at a higher rate, or ask for a lower percentile"
	case verdict.Invalid:
		for _, r := range j.verdict.Rules {
			if r.Outcome == verdict.Invalid {
				return r.ID + ": " + r.Advice
			}
		}
	}
	if confirm := diagnose.Of(j.record, j.verdict).Bottleneck; confirm != nil && len(confirm.Confirm) > 0 {
		return fmt.Sprintf("see why it failed: assay diagnose %s; then confirm it: assay experiment scenarios/experiments/%s.json", o.Dir, confirm.Confirm[0])
	}
	return "see why it failed: assay diagnose " + o.Dir
}

// afterPass is what a run that passed leads to: a smoke to the certificate of the
// same flow, a certificate to its signature, and any other to its headroom.
func afterPass(file spec.File, o run.Options) string {
	name := o.Profile.Name
	longer, flow := name+"-certificate", strings.TrimSuffix(name, "-certificate")
	if _, ok := file.Profiles[longer]; ok {
		return "certify it for longer: assay certify " + longer
	}
	_, err := os.Stat(filepath.Join(o.Dir, issue.BundleFile))
	if flow != name && err != nil {
		return "sign certificates: assay keygen keys; export ASSAY_SIGNING_KEY=keys/assay.key"
	}
	if _, ok := file.Profiles[flow]; !ok {
		flow = name
	}
	return "see how much more it takes: assay search " + flow
}
