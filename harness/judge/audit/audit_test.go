package audit

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/harness/judge/certificate"
	"assay/harness/judge/certificate/signature"
	"assay/harness/judge/internal/synthetic"
	"assay/harness/judge/issue"
	"assay/harness/judge/page"
	"assay/harness/judge/rejudge"
	"assay/harness/observe/record"
	"assay/harness/spec"
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
func certify(t *testing.T, name string, key *signature.PrivateKey) (dir string) {
	t.Helper()
	c := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
	c.Run.Plan.Run = name
	dir = filepath.Join(t.TempDir(), name)
	if err := c.Seal(dir); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, certificate.Of(r), key)
	return dir
}

func write(t *testing.T, dir string, c certificate.Certificate, key *signature.PrivateKey) {
	t.Helper()
	i, err := issue.New(dir, c, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Write(); err != nil {
		t.Fatal(err)
	}
}

func options(key *signature.PrivateKey) Options {
	o := Options{Now: synthetic.T0.Add(time.Hour), Tool: record.Tool{Version: "v0.0.0", Revision: "synthetic"}}
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

// An unsigned certificate is not authentic; with a key it fails.
func TestUnsigned(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	signed, plain := certify(t, "signed", &key), certify(t, "plain", nil)
	for _, c := range []struct {
		dir    string
		key    *signature.PrivateKey
		word   string
		broken []string
	}{
		{signed, nil, "UNVERIFIED", nil},
		{plain, nil, "UNSIGNED", nil},
		{plain, &key, "BROKEN", []string{Signature}},
	} {
		r := verify(t, c.dir, options(c.key))
		if word, _ := r.Summary(); word != c.word || r.Authentic || !slices.Equal(r.Broken, c.broken) {
			t.Errorf("%s with key %v: %s, %+v", c.dir, c.key, word, r)
		}
	}
	if err := os.Remove(filepath.Join(signed, issue.BundleFile)); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, signed, options(nil)); !slices.Equal(r.Broken, []string{Signature}) {
		t.Errorf("a signature was taken away: %+v", r)
	}
}

func filesBelow(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// One flipped byte, anywhere in a run folder, fails the check of its file.
func TestOneFlippedByte(t *testing.T) {
	key := newKey(t, signature.ECDSAP256)
	dir := certify(t, "a", &key)
	all := filesBelow(t, dir)
	if len(all) < 8 {
		t.Fatalf("only %v", all)
	}
	for _, path := range all {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{Evidence}
		switch filepath.Base(path) {
		case "manifest.json":
			want = []string{Subject}
		case issue.CertificateFile:
			want = []string{Predicate}
		case issue.BundleFile:
			want = []string{Signature}
		}
		rapid.Check(t, func(rt *rapid.T) {
			changed := bytes.Clone(whole)
			changed[rapid.IntRange(0, len(whole)-1).Draw(rt, "at")] ^= rapid.ByteRange(1, 255).Draw(rt, "mask")
			if err := os.WriteFile(path, changed, 0o644); err != nil {
				rt.Fatal(err)
			}
			r := verify(t, dir, options(&key))
			for _, name := range want {
				if !slices.Contains(r.Broken, name) || r.ExitCode() != 2 || r.Authentic {
					rt.Fatalf("%s: %+v", path, r)
				}
			}
			if want[0] == Evidence && !strings.Contains(detail(r, Evidence), filepath.Base(path)+" has changed") {
				rt.Fatalf("%s is not named: %s", path, detail(r, Evidence))
			}
		})
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if r := verify(t, dir, options(&key)); !r.Authentic {
		t.Errorf("put back: %+v", r)
	}
}

// Missing and added files are each named.
func TestMissingAndAdded(t *testing.T) {
	dir := certify(t, "a", nil)
	evidence := filepath.Join(dir, record.EvidenceDir)
	for _, err := range []error{
		os.Remove(filepath.Join(evidence, "facts.json")),
		os.WriteFile(filepath.Join(evidence, "plan.json"), []byte("{}"), 0o644),
		os.WriteFile(filepath.Join(evidence, "more.txt"), nil, 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r := verify(t, dir, options(nil))
	if want := "facts.json is missing\nplan.json has changed\nmore.txt was added"; detail(r, Evidence) != want || r.state(Verdict) != NotChecked {
		t.Errorf("%+v", r)
	}
	if err := os.WriteFile(filepath.Join(evidence, "manifest.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir, options(nil)); !slices.Equal(r.Broken, []string{Evidence, Subject}) {
		t.Errorf("no manifest: %+v", r)
	}
	if err := os.RemoveAll(evidence); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir, options(nil)); !slices.Equal(r.Broken, []string{Evidence}) || !strings.Contains(detail(r, Evidence), "no evidence in") {
		t.Errorf("no evidence: %+v", r)
	}
}

// The certificate of another run, with its signature, fails.
func TestSwapped(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	a, b := certify(t, "a", &key), certify(t, "b", &key)
	for _, name := range []string{issue.CertificateFile, issue.BundleFile} {
		data, err := os.ReadFile(filepath.Join(b, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(a, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
		r := verify(t, a, options(&key))
		want := []string{Predicate, RunCheck, Subject, Verdict}
		if name == issue.BundleFile { // now both
			want = []string{RunCheck, Subject, Verdict}
		}
		for _, name := range want {
			if !slices.Contains(r.Broken, name) && (name != Subject || len(want) == 3) {
				t.Errorf("%s did not fail: %+v", name, r)
			}
		}
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

func TestOtherKeys(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	dir := certify(t, "a", &key)
	for _, kind := range signature.Kinds {
		other := newKey(t, kind)
		if r := verify(t, dir, options(&other)); !slices.Equal(r.Broken, []string{Signature}) || !strings.Contains(detail(r, Signature), "another key") {
			t.Errorf("%s: %+v", kind, r)
		}
	}
}

// A false verdict fails although the right key has signed it.
func TestFalseVerdict(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	dir := certify(t, "a", &key)
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := certificate.Of(r)
	c.Claim = "all is well."
	if err := os.Remove(filepath.Join(dir, issue.BundleFile)); err != nil {
		t.Fatal(err)
	}
	write(t, dir, c, &key)
	got := verify(t, dir, options(&key))
	if !slices.Equal(got.Broken, []string{Verdict}) || !strings.HasSuffix(detail(got, Verdict), "differs in claim") {
		t.Errorf("%+v", got)
	}
	// Another version of the tool may give another verdict, as the failure explains.
	o := options(&key)
	o.Tool.Revision = "later"
	got = verify(t, dir, o)
	if !slices.Equal(got.Broken, []string{Verdict}) || !strings.Contains(detail(got, Verdict), "made by tool revision synthetic, this is tool revision later") {
		t.Errorf("%+v", got)
	}
}

const thresholds = `{"version": 1, "profiles": {"synthetic": {
  "scenario": "s.js", "timeout": "5s", "slo": {"transaction_duration": ["p(95)<100"]},
  "load": {"unit": "tps", "target": 5, "warmup": "0s", "ramp": "0s", "hold": "20s", "cooldown": "0s", "baseline": {"rate": 2, "for": "5s"}}
}}}`

// A re-judged certificate is verified by the thresholds in its folder.
func TestRejudged(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	dir := certify(t, "a", &key)
	file, err := spec.Decode("strict.json", []byte(thresholds))
	if err != nil {
		t.Fatal(err)
	}
	run, err := rejudge.Open(dir, file)
	if err != nil {
		t.Fatal(err)
	}
	c := certificate.Of(run)
	c.Rejudged = &certificate.Rejudged{Thresholds: record.Digest{Path: file.Path, SHA256: file.Digest}}
	to := filepath.Join(dir, issue.RejudgedDir)
	thresholdsFile := filepath.Join(to, issue.ThresholdsFile)
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(thresholdsFile, []byte(thresholds), 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, to, c, &key)
	for _, path := range []string{to, filepath.Join(to, issue.CertificateFile)} {
		if r := verify(t, path, options(&key)); !r.Authentic || r.state(Thresholds) != OK {
			t.Errorf("%s: %+v", path, r)
		}
	}
	if r := verify(t, dir, options(&key)); !r.Authentic || r.state(Thresholds) != NotChecked {
		t.Errorf("the run's own: %+v", r)
	}
	if err := os.WriteFile(thresholdsFile, []byte(strings.Replace(thresholds, "100", "900", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, to, options(&key)); !slices.Equal(r.Broken, []string{Thresholds}) {
		t.Errorf("other thresholds: %+v", r)
	}
	if err := os.Remove(thresholdsFile); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, to, options(&key)); !slices.Equal(r.Broken, []string{Thresholds}) {
		t.Errorf("no thresholds: %+v", r)
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

// A pipe or link instead of a file is refused.
func TestNotAFile(t *testing.T) {
	dir := certify(t, "a", nil)
	pipe := filepath.Join(dir, record.EvidenceDir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir, options(nil)); !slices.Equal(r.Broken, []string{Evidence}) || !strings.Contains(detail(r, Evidence), "pipe is not a file") {
		t.Errorf("%+v", r)
	}
	plan := filepath.Join(dir, record.EvidenceDir, "plan.json")
	for _, err := range []error{os.Remove(pipe), os.Rename(plan, filepath.Join(dir, "plan.json")), os.Symlink("../plan.json", plan)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if r := verify(t, dir, options(nil)); !slices.Equal(r.Broken, []string{Evidence}) || !strings.Contains(detail(r, Evidence), "plan.json is not a file") {
		t.Errorf("%+v", r)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, issue.BundleFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(dir, options(nil)); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("a pipe for a signature: %v", err)
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
		if err := os.WriteFile(filepath.Join(dir, issue.CertificateFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, dir, options(nil)); !slices.Contains(r.Broken, Schema) || r.ExitCode() != 2 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A signature by another key than the issuer's fails, with either key.
func TestAnotherIssuer(t *testing.T) {
	key, other := newKey(t, signature.Ed25519), newKey(t, signature.Ed25519)
	dir := certify(t, "a", &key)
	data, err := os.ReadFile(filepath.Join(dir, issue.CertificateFile))
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := signature.Sign(other, data, strings.TrimPrefix(r.Manifest, "sha256:"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, issue.BundleFile), bundle, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{options(&other), options(nil)} {
		if r := verify(t, dir, o); !slices.Equal(r.Broken, []string{Signature}) || !strings.Contains(detail(r, Signature), "the certificate's issuer is not the key") {
			t.Errorf("broken: %v; %s", r.Broken, detail(r, Signature))
		}
	}
}
