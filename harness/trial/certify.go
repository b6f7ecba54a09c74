package trial

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"assay/harness/judge/certificate/signature"
	"assay/harness/judge/issue"
	"assay/harness/judge/verdict"
	"assay/harness/run"
)

// Certify makes one run, publishes its certificate, signed where there is a key,
// and adds it to the summary of a CI job. Before the load it tells which SLOs the
// plan cannot let pass. latest is the folder whose link "latest" is pointed at the
// run; empty: none.
func Certify(ctx context.Context, o run.Options, c *Console, key *signature.PrivateKey, latest string) (Result, issue.Issue, error) {
	p := c.Progress(o.Profile.Name)
	p.First = func() { p.forecast(o) }
	r, err := Run(ctx, o, p)
	if err != nil {
		return r, issue.Issue{}, err
	}
	if latest != "" {
		if err := LinkLatest(latest, o.ID); err != nil {
			return r, issue.Issue{}, err
		}
	}
	i, err := Publish(o.Dir, r, key)
	if err != nil {
		return r, i, err
	}
	if err := appendStepSummary(o.Dir); err != nil { // the verdict stays what it is
		fmt.Fprintf(c.W, "%s: the job's summary does not show it: %v\n", o.Profile.Name, err)
	}
	return r, i, nil
}

// forecast tells which SLOs the plan cannot let pass, before minutes of load are
// spent.
func (p *Progress) forecast(o run.Options) {
	found, err := Forecast(o.Profile, o.Workers, o.Scope, o.Journal)
	if err != nil || len(found) == 0 {
		return // no SLO needs samples; or the run tells the error
	}
	enough := true
	for _, f := range found {
		if why, remedy := undecidable(f); why != "" {
			enough = false
			p.Note(why + "; " + remedy)
		}
	}
	if enough {
		p.Step("the plan has samples enough for its %d percentiles and rates", len(found))
	}
}

// Next says what to open of certified runs, and what to do next: of the first that
// is not PASS what would help, else what a PASS leads to. There is at least one
// result, and a run for each.
func Next(runs []run.Options, results []Result) string {
	var b strings.Builder
	next := len(results) - 1
	for i := len(results) - 1; i >= 0; i-- {
		if results[i].Verdict.Outcome != verdict.Pass {
			next = i
		}
	}
	for i := range results {
		fmt.Fprintf(&b, "open  %s\n", filepath.Join(runs[i].Dir, htmlFile))
	}
	fmt.Fprintf(&b, "next  %s\n", nextStep(runs[next], results[next]))
	return b.String()
}
