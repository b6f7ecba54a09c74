package record

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/harness/observe/ledger"
)

// A ledger that is compared in parts has the same result as one that is compared
// at once.
func TestLedgerInParts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, aPlan())
	if err != nil {
		t.Fatal(err)
	}
	var acks, rows []ledger.Entry
	for i := range int64(1000) {
		e := entry(fmt.Sprint(i), 1000+i)
		if i%100 != 3 { // 3 is never acknowledged
			acks = append(acks, e)
		}
		if i%100 != 5 { // 5 is lost
			rows = append(rows, ledger.Entry{Hash: e.Hash, Millis: e.Millis + i%7})
		}
		if i%100 == 8 { // 8 is duplicated
			rows = append(rows, e)
		}
	}
	if err := errors.Join(w.Acknowledged("worker/0", acks[:400]), w.Acknowledged("worker/1", acks[400:]), w.Persisted(rows), w.Seal(Facts{})); err != nil {
		t.Fatal(err)
	}
	want := ledger.Compare(acks, rows)
	if want.Missing != 10 || want.Duplicated != 10 || want.Unacknowledged != 10 {
		t.Fatalf("compared at once: %+v", want)
	}
	for _, limit := range []int64{20, 333, maxIdentities} {
		got, err := openLedger(filepath.Join(dir, EvidenceDir, ledgerDir), LedgerFact{State: StateOK}, limit)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("in parts of %d: %s", limit, diff)
		}
	}
}
