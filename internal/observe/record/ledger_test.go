package record

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/observe/ledger"
)

// someLedger is a ledger of 1000 identities of each kind of difference.
func someLedger() (acks, rows []ledger.Entry) {
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
	return acks, rows
}

// A ledger that is compared in parts has the same result as one that is compared
// at once, and leaves no temporary file.
func TestLedgerInParts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, aPlan())
	if err != nil {
		t.Fatal(err)
	}
	var acks, rows []ledger.Entry
	for i := range int64(20) { // more than a block of each part
		a, r := someLedger()
		for side, all := range [][]ledger.Entry{a, r} {
			for j := range all {
				all[j].Hash[15], all[j].Hash[0] = byte(i), all[j].Hash[0]^byte(i*13)
			}
			if side == 0 {
				acks = append(acks, a...)
			} else {
				rows = append(rows, r...)
			}
		}
	}
	if err := errors.Join(w.Acknowledged("worker/0", 1, acks[:400]), w.Acknowledged("worker/1", 1, acks[400:]), w.Persisted(each(rows...)), w.Seal(someFacts(StateAbsent))); err != nil {
		t.Fatal(err)
	}
	whole := ledger.NewMatcher()
	for _, e := range acks {
		whole.Add(ledger.Acknowledged, e)
	}
	for _, e := range rows {
		whole.Add(ledger.Persisted, e)
	}
	want := whole.Comparison()
	if want.Missing != 200 || want.Duplicated != 200 || want.Unacknowledged != 200 {
		t.Fatalf("compared at once: %+v", want)
	}
	for _, limit := range []int64{20, 333, 10_000, maxIdentities} {
		got, err := compareLedger(dir, limit, All, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in parts of %d: %s", limit, diff)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("files in the folder: %v, %v", left, err)
	}
}

// The persisted side is replaced whole or not at all, and a file that is not whole never
// has its name.
func TestPersistedIsReplaced(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "run"), aPlan())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Discard() }()
	lost := errors.New("connection lost")
	path := w.path(ledgerDir, persistedFile)
	if err := w.Acknowledged("worker/0", 1, []ledger.Entry{entry("a", 1), entry("b", 1)}); err != nil {
		t.Fatal(err)
	}
	for i, poll := range []struct {
		rows  []ledger.Entry
		after error // error of the read
		want  int64 // missing
	}{
		{nil, nil, 2},
		{[]ledger.Entry{entry("a", 2)}, nil, 1},
		{[]ledger.Entry{entry("a", 2), entry("b", 2)}, lost, 1},
		{[]ledger.Entry{entry("b", 2), entry("a", 2)}, nil, 0},
	} {
		before, _ := os.ReadFile(path)
		err := w.Persisted(func(add func(ledger.Entry) error) error {
			if err := each(poll.rows...)(add); err != nil {
				return err
			}
			if now, err := os.ReadFile(path); !bytes.Equal(now, before) {
				t.Errorf("poll %d: the file changed while rows were read: %v", i, err)
			}
			return poll.after
		})
		if !errors.Is(err, poll.after) || err != nil && err != poll.after { // returned as it is
			t.Errorf("poll %d: %v", i, err)
		}
		if c, err := w.CompareLedger(); err != nil || c.Missing != poll.want {
			t.Errorf("poll %d: %d missing, %v, want %d", i, c.Missing, err, poll.want)
		}
		if files, err := os.ReadDir(w.path(ledgerDir)); err != nil || len(files) != 2 {
			t.Errorf("poll %d: files %v, %v", i, files, err)
		}
	}
	if err := errors.Join(w.RemovePersisted(), w.RemovePersisted()); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(w.path(ledgerDir)); err != nil || len(files) != 1 {
		t.Errorf("after the removal: %v, %v", files, err)
	}
}
