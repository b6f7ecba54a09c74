package trial

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/judge/sealed"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/signature"
	"assay.dev/assay/internal/trial/attempts"
)

// Maker makes a run and judges it.
type Maker func(context.Context, run.Options, *Progress) (sealed.Result, error)

// Certify makes one run, publishes its certificate, signed if there is a key, and
// appends it to the summary of the CI job. Before the load it reports the SLOs that
// the plan cannot decide. latest is the folder of runs whose link "latest" is set to
// this run; empty: no link is set. maker is Run, or makes the run elsewhere.
func Certify(ctx context.Context, o run.Options, c *Console, key *signature.PrivateKey, latest string, maker Maker) (sealed.Result, issue.Issue, error) {
	p := c.Progress(o.Profile.Name)
	p.First = func() { p.forecast(o) }
	r, err := maker(ctx, o, p)
	if err != nil {
		return r, issue.Issue{}, err
	}
	if o.Count != nil {
		if err := attempts.Of(o.File.Path, o.Runs).End(r.Record.Plan, r.Record.Environment, r.Verdict.Outcome.String()); err != nil { // has no effect on this verdict
			fmt.Fprintf(c.W, "%s: its verdict is not in the journal of attempts: %s\n", o.Profile.Name, page.Message(err.Error()))
		}
	}
	if latest != "" {
		if err := linkLatest(latest, filepath.Base(o.Dir)); err != nil { // has no effect on the verdict
			fmt.Fprintf(c.W, "%s: the run is in %s: %s\n", o.Profile.Name, page.Message(o.Dir), page.Message(err.Error()))
		}
	}
	i, err := sealed.Publish(o.Dir, r, key)
	if err != nil {
		return r, i, err
	}
	if err := appendStepSummary(o.Dir); err != nil { // has no effect on the verdict
		fmt.Fprintf(c.W, "%s: the certificate is not in the job's summary: %s\n", o.Profile.Name, page.Message(err.Error()))
	}
	return r, i, nil
}

// forecast reports the SLOs that the plan cannot decide, before minutes of load are
// spent.
func (p *Progress) forecast(o run.Options) {
	found, err := forecastOf(o.Profile, o.Workers, o.Scope, o.Runs)
	if err != nil || len(found) == 0 {
		return // the run reports the error; without one, no SLO needs a forecast
	}
	enough := true
	for _, f := range found {
		if why, remedy := undecidable(f); why != "" {
			enough = false
			p.Note(why + "; " + remedy)
		}
	}
	if enough {
		p.Step("the plan has enough samples for its %d percentiles and rates", len(found))
	}
}

// Next lists the reports to open, and the next step: for the first run that is not
// PASS, else for the last. runs and results have the same length, at least 1.
func Next(runs []run.Options, results []sealed.Result) string {
	var b strings.Builder
	next := len(results) - 1
	for i := len(results) - 1; i >= 0; i-- {
		if results[i].Verdict.Outcome != verdict.Pass {
			next = i
		}
	}
	for i := range results {
		fmt.Fprintf(&b, "open  %s\n", filepath.Join(runs[i].Dir, sealed.HTMLFile))
	}
	fmt.Fprintf(&b, "next  %s\n", nextStep(runs[next], results[next]))
	return b.String()
}

// stepSummaryLimit is the largest summary of a step that GitHub shows; it shows
// nothing of a longer one.
const stepSummaryLimit = 1 << 20 // bytes

// appendStepSummary appends a run's Markdown to the summary of the CI job's step,
// where GitHub Actions names a file for it.
func appendStepSummary(dir string) (err error) {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	data, err := foreign.ReadLinked(filepath.Join(dir, sealed.MarkdownFile), 2*stepSummaryLimit)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size()+int64(len(data)) > stepSummaryLimit {
		return fmt.Errorf("%s would be longer than the %d KiB that GitHub shows", path, stepSummaryLimit>>10)
	}
	_, err = f.Write(data)
	return err
}
