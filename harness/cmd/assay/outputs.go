package main

import (
	"fmt"
	"os"
	"path/filepath"

	"assay/harness/judge/certificate"
	"assay/harness/judge/certificate/report"
	"assay/harness/judge/page"
	"assay/harness/observe/record"
)

// What a run folder holds beside the certificate, for people and CI.
const (
	markdownFile = "certificate.md"
	htmlFile     = "certificate.html"
	junitFile    = "junit.xml"
)

// writeReports writes what people and CI read of a certificate into its run
// folder. All are made before any is written.
func writeReports(dir string, r record.Run, c certificate.Certificate) error {
	junit, err := page.JUnit(report.Checks(c))
	if err != nil {
		return err
	}
	html, err := page.HTML(report.Full(c, report.NewTimeline(r)))
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{markdownFile, page.Markdown(report.Report(c))}, {htmlFile, html}, {junitFile, junit}} {
		if err := record.WriteFile(filepath.Join(dir, f.name), f.data); err != nil {
			return err
		}
	}
	return nil
}

// stepSummary is how much GitHub takes as the summary of a step; it shows none
// of what is longer.
const stepSummary = 1 << 20

// summarise appends a run's Markdown to the summary of the CI job's step, where
// GitHub Actions names a file for it.
func summarise(dir string) (err error) {
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
	if info.Size()+int64(len(data)) > stepSummary {
		return fmt.Errorf("%s would be longer than the %d KiB that GitHub shows", path, stepSummary>>10)
	}
	_, err = f.Write(data)
	return err
}
