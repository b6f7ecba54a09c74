package exam

import (
	"path/filepath"
	"testing"

	"assay/harness/judge/diagnose"
	"assay/harness/judge/verdict"
	"assay/harness/observe/record"
)

// TestRecordedMySQL and TestRecordedMariaDB judge and diagnose the records of all
// cases again, as make exam has sealed them (EXAMFLAGS=-update).
func TestRecordedMySQL(t *testing.T) { scoreMySQL(t, replay(t, "mysql")) }

func TestRecordedMariaDB(t *testing.T) { scoreMariaDB(t, replay(t, "mariadb")) }

func replay(t *testing.T, flavour string) (marks []mark) {
	for _, e := range exercises {
		r, err := record.Open(filepath.Join(recordsDir, flavour, e.folder()))
		if err != nil {
			t.Error(err)
			continue
		}
		v := verdict.Judge(r)
		m := mark{e, v.Outcome, diagnose.Of(r, v)}
		t.Logf("%s: %s: %s\n%s", e.name, v.Outcome, v.Claim, m.tell())
		if v.Outcome != e.outcome() {
			t.Errorf("%s: the run is %s, want %s", e.name, v.Outcome, e.outcome())
		}
		marks = append(marks, m)
	}
	return marks
}
