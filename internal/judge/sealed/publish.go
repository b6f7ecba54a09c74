// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"syscall"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/certificate/report"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/judge/rejudge"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/signature"
	"assay.dev/assay/internal/thresholds"
)

// The reports in a run folder, next to certificate.json.
const (
	// MarkdownFile is the report that CI systems show.
	MarkdownFile = "certificate.md"
	// HTMLFile is the page that people look at.
	HTMLFile  = "certificate.html"
	junitFile = "junit.xml"
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
func Rejudge(ctx context.Context, dir, path string, key *signature.PrivateKey) (Result, issue.Issue, error) {
	file, err := thresholds.Read(ctx, path)
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
	files = append(files, issue.File{Name: MarkdownFile, Data: page.Markdown(report.Report(c, headroom))},
		issue.File{Name: HTMLFile, Data: html}, issue.File{Name: junitFile, Data: junit})
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
