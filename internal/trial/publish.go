package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/certificate/report"
	"assay.dev/assay/internal/judge/certificate/signature"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/judge/rejudge"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
)

// The reports in a run folder, next to certificate.json.
const (
	markdownFile = "certificate.md"
	htmlFile     = "certificate.html"
	junitFile    = "junit.xml"
)

// Publish writes the certificate of a result, signed if there is a key, and its reports
// into the run folder. A search that followed the run is in the reports if the signature
// that is there covers it.
func Publish(dir string, r Result, key *signature.PrivateKey) (issue.Issue, error) {
	return publish(dir, "", r, key, false)
}

// PublishSearch is Publish after this process has made the search that followed the run.
func PublishSearch(dir string, r Result, key *signature.PrivateKey) (issue.Issue, error) {
	return publish(dir, "", r, key, true)
}

// Rejudge judges a sealed run folder by the SLOs and rules of another thresholds
// file. It publishes the certificate, with a copy of that file, in a subfolder: the
// certificate of the run itself is not changed.
func Rejudge(ctx context.Context, dir, thresholds string, key *signature.PrivateKey) (Result, issue.Issue, error) {
	file, err := ReadThresholds(ctx, thresholds)
	if err != nil {
		return Result{}, issue.Issue{}, err
	}
	again, err := rejudge.Open(dir, file)
	if err != nil {
		return Result{}, issue.Issue{}, err
	}
	r := Result{again, verdict.Judge(again)}
	i, err := publish(dir, issue.RejudgedDir, r, key, false, issue.File{Name: issue.ThresholdsFile, Data: file.Text})
	return r, i, err
}

// publish renders all files, and more that are given, before it writes the first into a run
// folder, or into sub below it. searched: this process has made the search in the folder.
func publish(dir, sub string, r Result, key *signature.PrivateKey, searched bool, files ...issue.File) (issue.Issue, error) {
	if r.Record.Plan.Thresholds.SHA256 == "" {
		return issue.Issue{}, hint.With(fmt.Errorf("%s: no certificate is made: the plan names no thresholds, so that nobody has asked for its SLOs", dir), hint.Of(record.ErrChanged))
	}
	f, err := issue.Open(dir, sub, key)
	if err != nil {
		return issue.Issue{}, err
	}
	c := f.Signed(r.Certificate())
	var others []issue.File
	headroom, search := readHeadroom(filepath.Join(dir, sub))
	if headroom != "" && (searched || f.Vouches(search.Name, search.Data)) {
		others = append(others, search)
	} else {
		headroom = ""
	}
	junit, err := page.JUnit(report.Checks(c))
	if err != nil {
		return issue.Issue{}, err
	}
	html, err := page.HTML(report.Full(c, report.NewTimeline(r.Record), headroom))
	if err != nil {
		return issue.Issue{}, err
	}
	files = append(files, issue.File{Name: markdownFile, Data: page.Markdown(report.Report(c, headroom))},
		issue.File{Name: htmlFile, Data: html}, issue.File{Name: junitFile, Data: junit})
	i, err := f.Issue(c, files, others...)
	if err != nil {
		return issue.Issue{}, err
	}
	err = i.Write()
	return i, hint.Or(err, writable(err)+"; then write the certificate: assay judge "+dir)
}

// writable says what to do so that a folder can be written to.
func writable(err error) string {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return "make room on its disk (df -h, df -i)"
	}
	return "let this user write to the folder, or copy it to where that is so"
}

// HeadroomDir, in the folder of a run, holds the search that followed it. SearchFile is the
// name of a search's document in its folder.
const (
	HeadroomDir = "headroom"
	SearchFile  = "search.json"
)

// readHeadroom is the result of the search that followed a run, in one sentence, and its
// document; empty if there was none.
func readHeadroom(dir string) (sentence string, search issue.File) {
	search.Name = path.Join(HeadroomDir, SearchFile)
	data, err := foreign.ReadIn(dir, filepath.FromSlash(search.Name), record.MaxDocument)
	var d struct{ Sentence string }
	if err != nil || foreign.CheckJSON(data, record.MaxValues) != nil || json.Unmarshal(data, &d) != nil {
		return "", search
	}
	search.Data = data
	return d.Sentence, search
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
