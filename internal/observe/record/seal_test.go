package record

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

// stamp is a sealer without a key.
type stamp struct{ err error }

func (s stamp) Seal(run string, manifest []byte) ([]byte, error) {
	return append([]byte(run+"\n"), manifest...), s.err
}

func (stamp) Verify([]byte, string, []byte) error { return nil }

// A record is signed when it is sealed: the manifest that is written, beside the evidence, so
// that the record is whole with it and without it. Where it cannot be signed it is not sealed.
func TestSealer(t *testing.T) {
	for name, sealer := range map[string]Sealer{"none": nil, "a key": stamp{}, "a broken key": stamp{errors.New("no key")}} {
		dir := filepath.Join(t.TempDir(), "run")
		w, err := Create(dir, aPlan())
		if err != nil {
			t.Fatal(err)
		}
		w.Sealer = sealer
		must(t, w.Frame(latencies("worker/0", 1, 1)), w.Environment(Environment{}))
		err = w.Seal(Facts{})
		if name == "a broken key" {
			if err == nil || !strings.Contains(err.Error(), "seal record: no key") || !errors.Is(CheckSeal(dir), ErrNotSealed) {
				t.Errorf("%v, %v", err, CheckSeal(dir))
			}
			continue
		}
		if err := errors.Join(err, CheckSeal(dir)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		manifest, err := os.ReadFile(filepath.Join(dir, EvidenceDir, manifestFile))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, SealFile)
		seal, err := os.ReadFile(path)
		if sealer == nil {
			if err == nil || WriteSeal(dir, nil) != nil {
				t.Errorf("it is signed without a key: %s", seal)
			}
			continue
		}
		if want := append([]byte("a-run\n"), manifest...); !bytes.Equal(seal, want) {
			t.Errorf("%s, want %s", seal, want)
		}
		must(t, os.Remove(path), WriteSeal(dir, sealer))
		if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, seal) {
			t.Errorf("by WriteSeal: %s, %v", again, err)
		}
		// The manifest of another record is not signed, nor one that says it is of another run.
		of := filepath.Join(dir, EvidenceDir, manifestFile)
		for what, changed := range map[string][]byte{
			"file": bytes.Replace(manifest, []byte(`"size": `), []byte(`"size": 1`), 1),
			"run":  bytes.Replace(manifest, []byte("a-run"), []byte("b-run"), 1),
		} {
			must(t, os.WriteFile(of, changed, 0o644), os.Remove(path))
			if err := WriteSeal(dir, sealer); bytes.Equal(changed, manifest) || !errors.Is(err, ErrChanged) {
				t.Errorf("the manifest has another %s: %v", what, err)
			}
			if _, err := os.Stat(path); err == nil {
				t.Errorf("the manifest has another %s: it is signed", what)
			}
			must(t, os.WriteFile(path, seal, 0o644))
		}
	}
}

// A record in which a link leads elsewhere is not continued, and what is there not changed.
func TestNoLinkIsAppendedTo(t *testing.T) {
	for _, name := range []string{framesFile, ledgerDir, workersDir, "ledger/acknowledged-x.zst", "."} {
		dir := filepath.Join(t.TempDir(), "run")
		w, err := Create(dir, aPlan())
		if err != nil {
			t.Fatal(err)
		}
		must(t, w.Frame(latencies("worker/0", 1, 1)), w.Flush(), w.Close())
		path, elsewhere := filepath.Join(dir, EvidenceDir, name), filepath.Join(t.TempDir(), "elsewhere")
		if _, err := os.Lstat(path); err == nil {
			must(t, os.Rename(path, elsewhere))
		} else {
			must(t, os.WriteFile(elsewhere, []byte("mine"), 0o600))
		}
		must(t, os.Symlink(elsewhere, path))
		before, _ := os.ReadFile(elsewhere)
		if _, _, err := Resume(dir, func(metric.Frame) error { return nil }); err == nil || !strings.Contains(err.Error(), "a folder") {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := os.ReadFile(elsewhere); !bytes.Equal(before, after) {
			t.Errorf("%s: it has changed", name)
		}
	}
}
