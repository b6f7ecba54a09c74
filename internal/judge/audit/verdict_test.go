package audit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/judge/rejudge"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/signature"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/version"
)

// A false verdict fails although the right key has signed it.
func TestFalseVerdict(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	dir := certify(t, "a", &key)
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := build.Of(r)
	c.Claim = "all is well."
	if err := os.Remove(filepath.Join(dir, issue.BundleFile)); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "", c, &key)
	got := verify(t, dir, options(&key))
	if !slices.Equal(got.Broken, []string{Verdict}) || !strings.HasSuffix(detail(got, Verdict), "differs in claim") {
		t.Errorf("%+v", got)
	}
}

// Another build may say the same in other words. Its decisions and figures are compared, and a
// false one fails however the certificate names its build.
func TestAnotherBuild(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	dir := certify(t, "a", &key)
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	later := version.Of()
	later.Version = "9.0.0"
	for name, c := range map[string]struct {
		by     *certificate.JudgedBy
		change func(*certificate.Certificate)
		want   State
		text   string
	}{
		"other words, of a later build":    {&later, func(c *certificate.Certificate) { c.Claim = "all is well." }, OK, "judged by assay 9.0.0"},
		"other words, of an earlier build": {nil, func(c *certificate.Certificate) { c.Rules[0].Advice = "do something else" }, OK, "judged by a build before 0.2.0"},
		"a rounded figure":                 {&later, func(c *certificate.Certificate) { *c.SLOs[0].Observed *= 1 + 1e-9 }, OK, "the same decisions"},
		"another figure":                   {&later, func(c *certificate.Certificate) { *c.SLOs[0].Observed *= 1.001 }, Failed, "differs in slos[0].observed"},
		"another verdict":                  {nil, func(c *certificate.Certificate) { c.Verdict = "FAIL" }, Failed, "differs in verdict"},
		"a rule less":                      {&later, func(c *certificate.Certificate) { c.Rules = c.Rules[1:] }, Failed, "differs in rules"},
		"another SLO's verdict":            {&later, func(c *certificate.Certificate) { c.SLOs[0].Verdict = "FAIL" }, Failed, "differs in slos[0].verdict"},
	} {
		made := build.Of(r)
		made.JudgedBy = c.by
		c.change(&made)
		if err := os.Remove(filepath.Join(dir, issue.BundleFile)); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "", made, &key)
		if got := verify(t, dir, options(&key)); got.state(Verdict) != c.want || !strings.Contains(detail(got, Verdict), c.text) {
			t.Errorf("%s: %s: %s", name, got.state(Verdict), detail(got, Verdict))
		}
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
	c := build.Of(run)
	c.Rejudged = &certificate.Rejudged{Thresholds: record.Digest{Path: file.Path, SHA256: file.Digest}}
	to := filepath.Join(dir, issue.RejudgedDir)
	thresholdsFile := filepath.Join(to, issue.ThresholdsFile)
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	overwrite(t, thresholdsFile, []byte(thresholds))
	write(t, dir, issue.RejudgedDir, c, &key)
	allowed := options(&key)
	allowed.AllowRejudged = true
	for _, path := range []string{to, filepath.Join(to, issue.CertificateFile)} {
		if r := verify(t, path, allowed); !r.Authentic || r.state(Thresholds) != OK || r.state(Rejudged) != Allowed {
			t.Errorf("%s: %+v", path, r)
		}
		r := verify(t, path, options(&key))
		if word, _ := r.Summary(); r.Authentic || word != "REFUSED" || r.ExitCode() != 2 || !r.Rejudged || r.Problem() != "the certificate is refused: rejudged: judged by other thresholds than those of the run: strict.json" {
			t.Errorf("%s: %+v", path, r)
		}
	}
	if r := verify(t, dir, options(&key)); !r.Authentic || r.state(Thresholds) != NotChecked {
		t.Errorf("the run's own: %+v", r)
	}
	overwrite(t, thresholdsFile, []byte(strings.Replace(thresholds, "100", "900", 1)))
	if r := verify(t, to, allowed); !slices.Equal(r.Broken, []string{Thresholds}) {
		t.Errorf("other thresholds: %+v", r)
	}
	if err := os.Remove(thresholdsFile); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, to, allowed); !slices.Equal(r.Broken, []string{Thresholds}) {
		t.Errorf("no thresholds: %+v", r)
	}
	if err := syscall.Mkfifo(thresholdsFile, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, to, allowed); !slices.Equal(r.Broken, []string{Thresholds}) || !strings.Contains(detail(r, Thresholds), "not a regular file") {
		t.Errorf("a pipe for thresholds: %+v", r)
	}
}
