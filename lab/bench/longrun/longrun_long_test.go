//go:build long

package longrun

import (
	"path/filepath"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/budget"
)

// The largest fleets, and the longest and the most detailed runs, are within what is read of
// a record.
func TestLongLargestRunsCanBeRead(t *testing.T) {
	budget.CPUs(t, 1)
	for name, s := range map[string]Shape{
		"1,000 workers": {Workers: 1000, Hold: 10 * time.Second, Rate: 30_000, Small: true, Remote: true},
		"2 hours":       {Workers: 1, Hold: 2 * time.Hour, Rate: 100, Small: true},
		"an event":      {Workers: 8, Hold: time.Minute, Rate: 30_000},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		if err := s.Write(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := record.Open(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
