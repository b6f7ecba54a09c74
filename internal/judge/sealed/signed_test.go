//go:build live

package sealed

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/audit"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/signature"
	"assay.dev/assay/internal/testing/comparetest"
)

// sealedRun is a run that a key has sealed, and a result of it; nil: without a key.
func sealedRun(t *testing.T, key *signature.PrivateKey) (dir string, r Result) {
	t.Helper()
	dir = t.TempDir()
	if err := comparetest.Write(dir, "A", 1); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "A", "00")
	r, err := Open(dir)
	if err == nil {
		err = record.WriteSeal(dir, signature.NewSealer(key))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

func newKey(t *testing.T) *signature.PrivateKey {
	t.Helper()
	text, _, err := signature.Generate(signature.ECDSAP256) // whose signatures differ each time
	if err != nil {
		t.Fatal(err)
	}
	key, err := signature.ParsePrivate(text)
	if err != nil {
		t.Fatal(err)
	}
	return &key
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func verify(t *testing.T, dir string, r Result, key *signature.PrivateKey) audit.Report {
	t.Helper()
	public := key.Public()
	report, err := audit.Verify(dir, audit.Options{Key: &public, Now: r.Record.Facts.Issued.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// A record whose plan names no thresholds file could have any SLOs.
func TestNobodyAskedForTheSLOs(t *testing.T) {
	dir, r := sealedRun(t, nil)
	r.Record.Plan.Thresholds.SHA256 = ""
	if _, err := Publish(dir, r, nil); err == nil || !strings.Contains(err.Error(), "the plan names no thresholds") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, issue.CertificateFile)); err == nil {
		t.Error("there is a certificate")
	}
}

// The signature covers each page and the search that followed the run, and no other search:
// what somebody has put into the folder is neither shown nor signed by judging again.
func TestSignedPages(t *testing.T) {
	key := newKey(t)
	dir, r := sealedRun(t, key)
	publish := func(key *signature.PrivateKey) error {
		_, err := Publish(dir, r, key)
		return err
	}
	if err := publish(key); err != nil {
		t.Fatal(err)
	}
	search := filepath.Join(dir, HeadroomDir, SearchFile)
	put := func(sentence string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(search), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(search, []byte(`{"sentence": "`+sentence+`"}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shown := func(sentence string) bool {
		return bytes.Contains(read(t, dir, HTMLFile), []byte(sentence)) && bytes.Contains(read(t, dir, MarkdownFile), []byte(sentence))
	}
	put("a hundred times more")
	for _, k := range []*signature.PrivateKey{key, nil} {
		if err := publish(k); err != nil {
			t.Fatal(err)
		}
		if got := verify(t, dir, r, key); !got.Authentic || !slices.Equal(got.NotCovered, []string{"headroom/"}) || shown("a hundred times more") {
			t.Errorf("with another's search: %v, %q", got.Broken, got.NotCovered)
		}
	}
	put("twice as much")
	if _, err := PublishSearch(dir, r, key); err != nil {
		t.Fatal(err)
	}
	before := read(t, dir, issue.BundleFile)
	for _, k := range []*signature.PrivateKey{key, nil} {
		if err := publish(k); err != nil {
			t.Fatal(err)
		}
		if got := verify(t, dir, r, key); !got.Authentic || len(got.NotCovered) > 0 || !shown("twice as much") || !bytes.Equal(before, read(t, dir, issue.BundleFile)) {
			t.Errorf("with its own search: %v, %q", got.Broken, got.NotCovered)
		}
	}
	for _, name := range []string{HTMLFile, MarkdownFile, junitFile, filepath.Join(HeadroomDir, SearchFile)} {
		path := filepath.Join(dir, name)
		whole := read(t, path)
		if err := os.WriteFile(path, append(bytes.Clone(whole), ' '), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := verify(t, dir, r, key); !slices.Equal(got.Broken, []string{audit.Files}) {
			t.Errorf("%s has changed: %v", name, got.Broken)
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("a hundred times more")
	if err := publish(nil); err == nil || !strings.Contains(err.Error(), "signs a different certificate.md") {
		t.Errorf("without the key: %v", err)
	}
	if err := publish(key); err != nil || shown("a hundred times more") || shown("twice as much") {
		t.Errorf("with the key: %v", err)
	}
}

// Without any key the search is shown, as nothing is signed.
func TestUnsignedSearch(t *testing.T) {
	dir, r := sealedRun(t, nil)
	if err := os.MkdirAll(filepath.Join(dir, HeadroomDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, HeadroomDir, SearchFile), []byte(`{"sentence": "twice as much"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Publish(dir, r, nil); err != nil || !bytes.Contains(read(t, dir, HTMLFile), []byte("twice as much")) {
		t.Errorf("%v", err)
	}
}

// A folder rejudged that leads elsewhere is refused, before anything is written.
func TestRejudgedElsewhere(t *testing.T) {
	dir, r := sealedRun(t, nil)
	elsewhere, thresholds := t.TempDir(), filepath.Join(t.TempDir(), "t.json")
	name := r.Record.Plan.Profile.Name
	text := `{"version": 1, "profiles": {"` + name + `": {"scenario": "s.js", "timeout": "5s", "slo": {"transaction_duration": ["p(95)<100"]},
	  "load": {"unit": "tps", "target": 5, "warmup": "0s", "ramp": "0s", "hold": "20s", "cooldown": "0s", "baseline": {"rate": 2, "for": "5s"}}}}}`
	for path, text := range map[string]string{thresholds: text, filepath.Join(elsewhere, issue.ThresholdsFile): "mine"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, issue.RejudgedDir)
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Rejudge(t.Context(), dir, thresholds, nil); err == nil || !strings.Contains(err.Error(), "rejudged is not a folder") {
		t.Errorf("%v", err)
	}
	if all, err := os.ReadDir(elsewhere); err != nil || len(all) != 1 || string(read(t, elsewhere, issue.ThresholdsFile)) != "mine" {
		t.Errorf("%v, %v", all, err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if _, i, err := Rejudge(t.Context(), dir, thresholds, nil); err != nil || !bytes.Equal(read(t, i.Path()), i.Data) || string(read(t, link, issue.ThresholdsFile)) != text {
		t.Errorf("%v", err)
	}
}
