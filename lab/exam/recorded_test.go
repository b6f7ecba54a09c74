package exam

import (
	"path/filepath"
	"testing"

	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
)

// TestRecordedMySQL and TestRecordedMariaDB judge and diagnose again the records of all
// cases that make exam EXAMFLAGS=-update has kept.
func TestRecordedMySQL(t *testing.T) { scoreMySQL(t, replay(t, "mysql")) }

func TestRecordedMariaDB(t *testing.T) { scoreMariaDB(t, replay(t, "mariadb")) }

func replay(t *testing.T, flavour string) (results []result) {
	for _, e := range expectations {
		r, err := record.Open(filepath.Join(recordsDir, flavour, e.folder()))
		if err != nil {
			t.Error(err)
			continue
		}
		v := verdict.Judge(r)
		m := result{e, v.Outcome, diagnose.Of(r, v)}
		t.Logf("%s: %s: %s\n%s", e.name, v.Outcome, v.Claim, m.text())
		if v.Outcome != e.outcome() {
			t.Errorf("%s: the run is %s, want %s", e.name, v.Outcome, e.outcome())
		}
		results = append(results, m)
	}
	return results
}
