//go:build long

package postgres_test

import (
	"testing"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/samplingtest"
)

// TestLongLoads runs loads as fast as the server can, in whose samples one class must have
// most of the sessions: on a busy machine they would wait for its CPUs instead.
func TestLongLoads(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 1.5)
	t.Run("commits", func(t *testing.T) {
		b := newBenchOnDisk(t, counted)
		b.rest = 0
		s, took := loadOfCommits(t, b, 80) // the sessions wait together, so that a few samples are a poor mean
		if share := s.Share("commit"); share < 0.6 {
			t.Errorf("commit has a share of %.2f, want a clear majority", share)
		}
		s.CheckPace(t)
		s.CheckLittlesLaw(t, took)
		commits, statements := s.Total(metric.DBCounter, "name", "xact_commit"), s.Total(metric.DBStatements)
		// The collector commits too, after each of its statements.
		if commits > 1.4*statements+20*took.Seconds() {
			t.Errorf("xact_commit increased by %v, statements by %v", commits, statements)
		}
		if part := s.Total(metric.DBStatementTime, "digest", "outside"); part < s.Total(metric.DBStatementTime)/2 {
			t.Errorf("%v ms outside of statements, want most of the time, in commits", part)
		}
	})
	t.Run("hot row", func(t *testing.T) {
		b := newBenchOnDisk(t)
		b.rest = 0
		checkHotRow(t, b, hotRow, 0.4)
	})
	t.Run("page reads", func(t *testing.T) {
		shares := map[string]float64{}
		for _, buffers := range []string{"2MB", "256MB"} {
			shares[buffers] = loadOfPageReads(t, buffers, 8, "many samples are taken", func(s samplingtest.Result) bool {
				return s.Total(metric.DBSample) >= 20
			}).Share("buffer pool")
		}
		if shares["2MB"] < 0.05 || shares["2MB"] < 5*shares["256MB"] {
			t.Errorf("buffer pool has a share of %.3f in 2 MB, and %.3f in 256 MB", shares["2MB"], shares["256MB"])
		}
	})
}
