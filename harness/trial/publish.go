package trial

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"assay/harness/foreign"
	"assay/harness/hint"
	"assay/harness/judge/certificate/report"
	"assay/harness/judge/certificate/signature"
	"assay/harness/judge/issue"
	"assay/harness/judge/page"
	"assay/harness/judge/rejudge"
	"assay/harness/judge/verdict"
	"assay/harness/observe/record"
	"assay/harness/spec"
)

// The reports in a run folder, next to certificate.json.
const (
	markdownFile = "certificate.md"
	htmlFile     = "certificate.html"
	junitFile    = "junit.xml"
)

// Publish writes the certificate of a result, signed if there is a key, and its
// reports into the run folder.
func Publish(dir string, r Result, key *signature.PrivateKey) (issue.Issue, error) {
	i, err := issue.New(dir, r.Certificate(), key)
	if err != nil {
		return issue.Issue{}, err
	}
	return i, hint.Or(publish(dir, i, r.Record), "make room on its disk (df -h, df -i); then write the certificate: assay judge "+dir)
}

// Rejudge judges a sealed run folder by the SLOs and rules of another thresholds
// file. It publishes the certificate, with a copy of that file, in a subfolder: the
// certificate of the run itself is not changed.
func Rejudge(dir, thresholds string, key *signature.PrivateKey) (Result, issue.Issue, error) {
	text, err := os.ReadFile(thresholds)
	if err != nil {
		return Result{}, issue.Issue{}, hint.With(fmt.Errorf("thresholds cannot be read: %w", err), "name a file of profiles: --thresholds FILE")
	}
	file, err := spec.Decode(thresholds, text)
	if err != nil {
		return Result{}, issue.Issue{}, err
	}
	again, err := rejudge.Open(dir, file)
	if err != nil {
		return Result{}, issue.Issue{}, err
	}
	r := Result{again, verdict.Judge(again)}
	to := filepath.Join(dir, issue.RejudgedDir)
	i, err := issue.New(to, r.Certificate(), key)
	if err != nil {
		return Result{}, issue.Issue{}, err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return Result{}, issue.Issue{}, fmt.Errorf("write certificate: %w", err)
	}
	if err := record.WriteFile(filepath.Join(to, issue.ThresholdsFile), text); err != nil {
		return Result{}, issue.Issue{}, err
	}
	return r, i, publish(to, i, r.Record)
}

// publish renders all files before it writes the first.
func publish(dir string, i issue.Issue, r record.Run) error {
	junit, err := page.JUnit(report.Checks(i.Certificate))
	if err != nil {
		return err
	}
	headroom := readHeadroom(dir)
	html, err := page.HTML(report.Full(i.Certificate, report.NewTimeline(r), headroom))
	if err != nil {
		return err
	}
	if err := i.Write(); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{markdownFile, page.Markdown(report.Report(i.Certificate, headroom))}, {htmlFile, html}, {junitFile, junit}} {
		if err := record.WriteFile(filepath.Join(dir, f.name), f.data); err != nil {
			return err
		}
	}
	return nil
}

// HeadroomDir, in the folder of a run, holds the search that followed it. SearchFile is the
// name of a search's document in its folder.
const (
	HeadroomDir = "headroom"
	SearchFile  = "search.json"
)

// readHeadroom is the result of the search that followed a run, in one sentence; empty if
// there was none.
func readHeadroom(dir string) string {
	var d struct{ Sentence string }
	data, err := foreign.ReadIn(dir, filepath.Join(HeadroomDir, SearchFile), record.MaxDocument)
	if err != nil || foreign.CheckJSON(data, record.MaxValues) != nil || json.Unmarshal(data, &d) != nil {
		return ""
	}
	return d.Sentence
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
	data, err := os.ReadFile(filepath.Join(dir, markdownFile))
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
