package thresholds_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/thresholds"
)

// No value of thresholds.json, which is copied into the record, has a secret of this
// process; names, and words of what is no parameter, may be passwords.
func TestThresholdsHoldNoSecret(t *testing.T) {
	mask.AddDSN(`assay:Zq7&x"w@tcp(db.test:3306)/shop`)
	mask.Add("payments", "checkout-2026")
	const file = `{"version": 1, "profiles": {"checkout-2026": {
		"description": "DESCRIPTION", "scenario": "checkout-2026.js", "env": {"KEY": "ENV"},
		"load": {"unit": "tps", "target": 2, "warmup": "0s", "baseline": {"rate": 2, "for": "1s"}, "ramp": "0s", "hold": "10s", "cooldown": "0s"},
		"slo": {"http_req_duration{name:checkout-2026}": ["p(95)<500"]},
		"gauges": {"queue_depth": {"metric": "depth", "url": "http://127.0.0.1:1/URL"}},
		"ledger": {"persisted": "SELECT id, persisted_at FROM payments WHERE run_id = ? AND note <> 'SQL'", "cleanup": ["DELETE FROM payments WHERE run_id = ?", "DELETE FROM t WHERE run_id = ? AND a <> 'CLEANUP'"]}}}}`
	path := filepath.Join(t.TempDir(), "thresholds.json")
	read := func(word, secret string) error {
		quoted, err := json.Marshal(secret)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(file, word, strings.Trim(string(quoted), `"`))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = thresholds.Read(t.Context(), path)
		return err
	}
	if err := read("", ""); err != nil {
		t.Fatal(err)
	}
	const refused = " holds a secret of the environment, and the file is copied into the record"
	for _, c := range []struct{ word, secret, place string }{
		{"DESCRIPTION", `pay with Zq7&x"w`, "description"},
		{"DESCRIPTION", "Zq7%26x%22w", "description"},
		{"URL", "Zq7%26x%22w", "gauges.queue_depth.url"},
		{"SQL", `Zq7&x"w`, "ledger.persisted"},
		{"CLEANUP", "assay:Zq7&x\"w@tcp(db.test:3306)/shop", "ledger.cleanup[1]"},
		{"ENV", "payments", "env.KEY"},
	} {
		want := path + ": profiles.checkout-2026." + c.place + refused
		if c.place == "gauges.queue_depth.url" {
			want = "without user, password or token" // by the reader
		}
		if err := read(c.word, c.secret); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Zq7") {
			t.Errorf("%s = %s: %v, not %s", c.word, c.secret, err, want)
		}
	}
}
