package audit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/signature"
	"assay.dev/assay/internal/testing/synthetic"
)

func newKey(t *testing.T, kind signature.Kind) signature.PrivateKey {
	t.Helper()
	text, _, err := signature.Generate(kind)
	if err != nil {
		t.Fatal(err)
	}
	key, err := signature.ParsePrivate(text)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// certify makes a sealed run with its certificate; key nil: unsigned.
func certify(t *testing.T, name string, key *signature.PrivateKey) string {
	t.Helper()
	c := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
	c.Run.Plan.Run = name
	return certifyCase(t, c, key)
}

// write issues a certificate in a run folder, or in sub below it, with a page.
func write(t *testing.T, dir, sub string, c certificate.Certificate, key *signature.PrivateKey, others ...issue.File) {
	t.Helper()
	f, err := issue.Open(dir, sub, key)
	if err != nil {
		t.Fatal(err)
	}
	c = f.Signed(c)
	i, err := f.Issue(c, []issue.File{{Name: "certificate.md", Data: []byte(c.Claim)}}, others...)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Write(); err != nil {
		t.Fatal(err)
	}
}

func options(key *signature.PrivateKey) Options {
	o := Options{Now: synthetic.T0.Add(time.Hour)}
	if key != nil {
		public := key.Public()
		o.Key = &public
	}
	return o
}

func verify(t testing.TB, path string, o Options) Report {
	t.Helper()
	r, err := Verify(path, o)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page.Terminal(r.Page(), page.Columns, false))
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if page.Width(line) > page.Columns && strings.TrimSpace(line) != r.Certificate || page.Clean(line) != line {
			t.Errorf("line %q is %d wide", line, page.Width(line))
		}
	}
	for _, name := range r.Broken {
		if !strings.Contains(text, "failed       "+name) {
			t.Fatalf("%s failed, and the report does not name it:\n%s", name, text)
		}
	}
	return r
}

func detail(r Report, name string) string {
	var all []string
	for _, c := range r.Checks {
		if c.Name == name {
			all = append(all, c.Detail)
		}
	}
	return strings.Join(all, "\n")
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func overwrite(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// An unchanged certificate is authentic, given its folder or either file.
func TestAuthentic(t *testing.T) {
	for _, kind := range signature.Kinds {
		key := newKey(t, kind)
		dir := certify(t, "a", &key)
		for _, path := range []string{dir, filepath.Join(dir, issue.CertificateFile), filepath.Join(dir, issue.BundleFile)} {
			r := verify(t, path, options(&key))
			if !r.Authentic || len(r.Broken) > 0 {
				t.Errorf("%s: %+v", path, r)
			}
			if word, _ := r.Summary(); word != "AUTHENTIC" {
				t.Errorf("it is %s", word)
			}
			for _, name := range []string{Schema, Signature, Predicate, Subject, RunCheck, Evidence, Verdict, Expiry, Fingerprint} {
				if r.state(name) != OK {
					t.Errorf("%s is %s: %s", name, r.state(name), detail(r, name))
				}
			}
			if r.state(Database) != NotChecked {
				t.Errorf("database is %s", r.state(Database))
			}
		}
	}
}

func TestExitCode(t *testing.T) {
	for want, r := range map[int]Report{
		0: {Verdict: "PASS"}, 1: {Verdict: "FAIL"}, 3: {Verdict: "INVALID"}, 4: {Verdict: "INCONCLUSIVE"},
		2: {Verdict: "PASS", Broken: []string{Expiry}},
	} {
		if got := r.ExitCode(); got != want {
			t.Errorf("%+v ends with %d, not %d", r, got, want)
		}
	}
	if got := (&Report{Verdict: "FINE"}).ExitCode(); got != 2 {
		t.Errorf("an unknown verdict ends with %d", got)
	}
}

func TestExpired(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	dir := certify(t, "a", &key)
	o := options(&key)
	r := verify(t, dir, o)
	for _, c := range []struct {
		now    time.Time
		broken []string
	}{{r.Expires.Add(-time.Second), nil}, {*r.Expires, []string{Expiry}}, {r.Expires.Add(time.Hour), []string{Expiry}}} {
		o.Now = c.now
		if r := verify(t, dir, o); !slices.Equal(r.Broken, c.broken) || r.Authentic != (c.broken == nil) {
			t.Errorf("at %s: %+v", c.now, r)
		}
	}
}

// The current database is compared by version and settings.
func TestDatabaseChanged(t *testing.T) {
	dir := certify(t, "a", nil)
	o := options(nil)
	same := record.Database{Flavour: "mysql", Version: "8.4.0", Variables: map[string]string{"sync_binlog": "1"}, Instruments: []string{"x"}}
	o.Database = &same
	if r := verify(t, dir, o); r.state(Database) != OK || len(r.Broken) > 0 {
		t.Errorf("%+v", r)
	}
	o.Database = &record.Database{Flavour: "mysql", Version: "8.4.1", Variables: map[string]string{"sync_binlog": "0", "read_only": "OFF"}}
	want := "the version was 8.4.0, is 8.4.1: certify again\nread_only was not set, is OFF: certify again\nsync_binlog was 1, is 0: certify again"
	if r := verify(t, dir, o); !slices.Equal(r.Broken, []string{Database}) || detail(r, Database) != want {
		t.Errorf("%+v", r)
	}
}

func TestNothingThere(t *testing.T) {
	empty := t.TempDir()
	for _, path := range []string{empty, filepath.Join(empty, "none")} {
		if _, err := Verify(path, options(nil)); err == nil || !strings.Contains(err.Error(), "there is no certificate") {
			t.Errorf("%s: %v", path, err)
		}
	}
	dir := certify(t, "a", nil)
	for name, text := range map[string]string{"empty": "", "text": "PASS", "other": `{"verdict": "PASS"}`, "list": "[]"} {
		overwrite(t, filepath.Join(dir, issue.CertificateFile), []byte(text))
		if r := verify(t, dir, options(nil)); !slices.Contains(r.Broken, Schema) || r.ExitCode() != 2 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
