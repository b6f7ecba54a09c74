//go:build long

package mysql_test

import (
	"testing"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// TestLongLoads runs loads as fast as the server can, in whose samples one class must have
// most of the sessions: on a busy machine they would wait for its CPUs instead.
func TestLongLoads(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		budget.CPUs(t, 1.5)
		b := newBench(t, flavour, mysqldtest.Start(t, flavour))
		b.rest = 0
		t.Run("commits", func(t *testing.T) {
			s, took := loadOfCommits(t, b, 30)
			if share := s.Share("commit", "binlog"); share < 0.6 {
				t.Errorf("commit and binlog have a share of %.2f, want a clear majority", share)
			}
			s.CheckPace(t)
			if gap := s.LongestGap(); gap > took.Seconds()*1000/2 {
				t.Errorf("the longest gap is %v ms of %v", gap, took)
			}
			s.CheckLittlesLaw(t, took)
		})
		t.Run("hot row", func(t *testing.T) {
			for _, sessions := range []int{8, 80} {
				checkHotRow(t, b, sessions, hotRow)
			}
		})
		t.Run("user without rights", func(t *testing.T) {
			s := loadWithoutRights(t, b, 20)
			if share := s.Share("commit", "binlog"); share < 0.5 {
				t.Errorf("commit and binlog have a share of %.2f:\n%s", share, s.Describe())
			}
		})
		t.Run("runs end at once", func(t *testing.T) { endAtOnce(t, b, 5) })
	})
}

// TestLongMySQL repeats on MySQL what needs no other SQL than on MariaDB.
func TestLongMySQL(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.6)
	t.Run("digests overflow", func(t *testing.T) { digestsOverflow(t, "mysql") })
	t.Run("performance schema off", func(t *testing.T) { performanceSchemaOff(t, "mysql") })
	b := newBench(t, "mysql", mysqldtest.StartInMemory(t, "mysql"))
	t.Run("server stopped", func(t *testing.T) { serverStopped(t, b) })
	t.Run("server gone", func(t *testing.T) { serverGone(t, b) })
}
