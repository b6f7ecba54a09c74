package spec_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/internal/spec"
)

const twoTables = `{"version": 1, "profiles": {"both": {
  "scenario": "event.js", "load": {"unit": "tps", "stages": [{"rate": 1, "for": "10s", "judge": true}]}, "timeout": "1s",
  "slo": {"ledger": ["missing==0"]},
  "ledger": {
    "persisted": "SELECT id, at FROM a WHERE run_id = ? UNION ALL SELECT id, at FROM b WHERE run_id = ?",
    "cleanup": ["DELETE FROM a WHERE run_id = ?", "DELETE FROM b WHERE run_id = ?"]
  }}}}`

// A ledger over several tables may use the run id several times and remove rows by
// several statements.
func TestLedgerOfSeveralTables(t *testing.T) {
	f, err := spec.Decode("thresholds.json", []byte(twoTables))
	if err != nil {
		t.Fatal(err)
	}
	l := f.Profiles["both"].Flows[0].Ledger
	if !slices.Equal(l.Cleanup, spec.Statements{"DELETE FROM a WHERE run_id = ?", "DELETE FROM b WHERE run_id = ?"}) {
		t.Errorf("cleanup %q", l.Cleanup)
	}
	if got := spec.Arguments(l.Persisted, "r"); !slices.Equal(got, []any{"r", "r"}) {
		t.Errorf("arguments %v", got)
	}
	if got := spec.Arguments(l.Cleanup[0], "r"); !slices.Equal(got, []any{"r"}) {
		t.Errorf("arguments %v", got)
	}
}

// A record holds the statements as thresholds.json did: records of one
// statement stay readable.
func TestStatementsInRecords(t *testing.T) {
	for text, want := range map[string]spec.Statements{
		`{"persisted":"p"}`:                     nil,
		`{"persisted":"p","cleanup":"a ?"}`:     {"a ?"},
		`{"persisted":"p","cleanup":["a","b"]}`: {"a", "b"},
	} {
		var l spec.Ledger
		if err := json.Unmarshal([]byte(text), &l); err != nil || !slices.Equal(l.Cleanup, want) {
			t.Errorf("%s: %q, %v", text, l.Cleanup, err)
		}
		if back, err := json.Marshal(l); err != nil || string(back) != text {
			t.Errorf("%s became %s, %v", text, back, err)
		}
	}
	var l spec.Ledger
	if err := json.Unmarshal([]byte(`{"cleanup":7}`), &l); err == nil || !strings.Contains(err.Error(), "number") {
		t.Errorf("a number: %v", err)
	}
}
