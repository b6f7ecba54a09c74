package change_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/series/experiment/change"
)

func steps() []change.Step {
	return []change.Step{
		{Stack: &change.Restart{Database: true, Setup: localstack.Setup{Database: []string{"--skip-log-bin"}, Target: []string{"--drain=false"}, Ports: localstack.Ports{Database: 1, Target: 2, Influx: 3}}}},
		{Variant: "B", Statements: []string{"SET GLOBAL sync_binlog = 1"}},
		{Variant: "B", Command: []string{"rm", "-f", "a file"}},
	}
}

// An opened journal has the steps that were added and not removed.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	if j, err := change.OpenJournal(dir); j != nil || err != nil {
		t.Fatalf("a journal in an empty folder: %v, %v", j, err)
	}
	w := &change.System{DSN: "user:secret@tcp(127.0.0.1:2)/shop"}
	w.Begin(dir, "x", "http://127.0.0.1:1", time.Unix(1, 0).UTC())
	j := w.Journal
	if _, err := os.Stat(j.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file before the first step: %v", err)
	}
	if err := j.Save(); err != nil || len(opened(t, dir).Steps) != 0 {
		t.Errorf("saved: %v", err)
	}
	for i, s := range steps() {
		if err := j.Add(s); err != nil {
			t.Fatal(err)
		}
		found := opened(t, dir)
		if diff := cmp.Diff(steps()[:i+1], found.Steps); diff != "" {
			t.Error(diff)
		}
		if found.Experiment != "x" || found.Target != "http://127.0.0.1:1" || found.Database != "user@tcp(127.0.0.1:2)/shop" || !found.Started.Equal(time.Unix(1, 0)) {
			t.Errorf("%+v", found)
		}
	}
	info, err := os.Stat(j.Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := j.Remove(1); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]change.Step{steps()[0], steps()[2]}, opened(t, dir).Steps); diff != "" {
		t.Error(diff)
	}
	for range 2 {
		if err := j.Close(); err != nil { // a journal that has steps stays
			t.Fatal(err)
		}
		opened(t, dir)
		if err := j.Remove(0); err != nil {
			t.Fatal(err)
		}
	}
	if left := opened(t, dir).Steps; len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	for range 2 {
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(dir); len(left) != 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

func opened(t *testing.T, dir string) *change.Journal {
	t.Helper()
	j, err := change.OpenJournal(dir)
	if err != nil || j == nil {
		t.Fatalf("%v, %v", j, err)
	}
	return j
}

// A step that is not on disk is not added: its change must not be made.
func TestAddThatFails(t *testing.T) {
	j := &change.Journal{Path: filepath.Join(t.TempDir(), "missing", change.JournalFile)}
	if err := j.Add(steps()[1]); err == nil || len(j.Steps) != 0 {
		t.Errorf("error %v, steps %v", err, j.Steps)
	}
}

func TestOpenOfSomethingElse(t *testing.T) {
	for _, text := range []string{"", "{", `{"schema": "assay/other/v1"}`, "[]"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, change.JournalFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if j, err := change.OpenJournal(dir); err == nil {
			t.Errorf("%q is %+v", text, j)
		}
	}
}
