package trial

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"assay.dev/assay/internal/spec"
)

// forecastProfile has SLOs that a forecast is made of.
func forecastProfile(t testing.TB) spec.Profile {
	file, err := spec.Decode("thresholds.json", []byte(`{"version": 1, "profiles": {"a": {"scenario": "a.js", "load": {"unit": "tps", "target": 10}, "slo": {"transaction_duration": ["p(95)<250", "p(99.9)<900"]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := file.Profile("a")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// FuzzPastRuns: whatever the certificates of earlier runs say, a forecast is made.
func FuzzPastRuns(f *testing.F) {
	f.Add([]byte(`{"profile":"a","verdict":"PASS","rate":{"scheduled":1},"slos":[{"metric":"transaction_duration","expression":"p(95)<250","samples":9000000000000000000,"effective":1,"design_effect":1e308,"needed":-1,"correlation":1e300}]}`))
	f.Add([]byte(`{"profile":"a","rate":{"scheduled":-5},"slos":[{"metric":"transaction_duration","expression":"p(99.9)<900","samples":1,"effective":0,"needed":1e12}],"flows":[{}]}`))
	f.Add([]byte(`[`))
	p := forecastProfile(f)
	f.Fuzz(func(t *testing.T, certificate []byte) {
		runs := t.TempDir()
		if err := os.Mkdir(filepath.Join(runs, "1"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(runs, "1", "certificate.json"), certificate, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, scope := range []string{"smoke", "certificate"} {
			found, err := forecastOf(p, 1, scope, runs)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range found {
				if one.Hold < 0 || !(one.Needed >= 0) || !(one.Expected >= 0) {
					t.Errorf("%+v", one)
				}
			}
			longerHold(p, found)
		}
	})
}

// A certificate that is no file, or without end, is none.
func TestForeignCertificates(t *testing.T) {
	t.Parallel()
	runs := t.TempDir()
	for name, make := range map[string]func(path string) error{
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"link": func(path string) error { return os.Symlink("/dev/zero", path) },
		"sparse": func(path string) error {
			return os.WriteFile(path, nil, 0o644)
		},
	} {
		path := filepath.Join(runs, name, "certificate.json")
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := make(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(runs, "sparse", "certificate.json"), 8<<30); err != nil {
		t.Fatal(err)
	}
	if past := pastRuns(runs, "a"); len(past) > 0 {
		t.Errorf("%+v", past)
	}
}
