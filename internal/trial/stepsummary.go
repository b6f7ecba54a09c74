package trial

import (
	"fmt"
	"os"
	"path/filepath"

	"assay.dev/assay/internal/judge/sealed"
)

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
	data, err := os.ReadFile(filepath.Join(dir, sealed.MarkdownFile))
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
