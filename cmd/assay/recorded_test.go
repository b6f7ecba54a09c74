//go:build live

package main

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"assay.dev/assay/internal/observe/record"
)

// recordingKey is the key of the run that the scripts share.
type recordingKey struct{}

// recording is a real run, made by the first script that needs its record.
type recording struct {
	once sync.Once
	dir  string // holds a copy that outlives the script
}

const recordingThresholds = `{
  "version": 1,
  "profiles": {
    "orders": {
      "scenario": "order.js",
      "load": {"unit": "tps", "target": 40, "warmup": "0s", "baseline": {"rate": 10, "for": "1s"}, "ramp": "0s", "hold": "10s", "cooldown": "0s"},
      "timeout": "5s",
      "slo": {"transaction_duration": ["p(50)<5000"], "ledger": ["missing==0", "duplicated==0"]},
      "ledger": {"persisted": "SELECT id, persisted_at FROM orders WHERE run_id = ?", "cleanup": "DELETE FROM orders WHERE run_id = ?"},
      "rules": {"offered": 1, "generator-drops": 1, "generator-cpu": 1}
    }
  }
}
`

const recordingScript = `import http from 'k6/http';
import { Rate } from 'k6/metrics';
import { run, transaction } from './scenarios/lib/identity.js';
import { ack } from './scenarios/lib/ledger.js';
const soldOut = new Rate('sold_out');
export default function () {
  const id = transaction();
  const made = http.post(__ENV.ASSAY_TARGET + '/orders', { id: id, run: run() }, { tags: { name: 'order' } });
  if (made.status === 201) { ack(id); }
  soldOut.add(true);
}
`

// recorded-run DIR [KEYS] writes a copy of the record of a real run to DIR, without a
// certificate, and the run's thresholds.json and order.js to the script's folder. The
// run is a PASS of profile orders, 40 tps for 10 s, on the scripts' service and database.
// With KEYS it also writes the seal, and to KEYS the keys with which the run has made it.
func recordedRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: recorded-run DIR [KEYS]")
	}
	for name, text := range map[string]string{"thresholds.json": recordingThresholds, "order.js": recordingScript} {
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
	r := ts.Value(recordingKey{}).(*recording)
	r.once.Do(func() {
		ts.Check(ts.Exec("assay", "keygen", filepath.Join(r.dir, "keys")))
		ts.Setenv("ASSAY_DB", ts.Getenv("DB"))
		ts.Setenv("ASSAY_SIGNING_KEY", filepath.Join(r.dir, "keys", "assay.key"))
		defer ts.Setenv("ASSAY_DB", "")
		defer ts.Setenv("ASSAY_SIGNING_KEY", "")
		ts.Check(ts.Exec("assay", "certify", "orders", "--quiet", "--target", ts.Getenv("TARGET"), "--out", "recording"))
		made := ts.MkAbs("recording")
		ts.Check(os.CopyFS(filepath.Join(r.dir, "run", "evidence"), os.DirFS(filepath.Join(made, "evidence"))))
		ts.Check(os.Rename(filepath.Join(made, record.SealFile), filepath.Join(r.dir, record.SealFile)))
		ts.Check(os.RemoveAll(made))
	})
	ts.Check(os.CopyFS(ts.MkAbs(args[0]), os.DirFS(filepath.Join(r.dir, "run"))))
	if len(args) > 1 {
		seal, err := os.ReadFile(filepath.Join(r.dir, record.SealFile))
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[0]), record.SealFile), seal, 0o644))
		ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(filepath.Join(r.dir, "keys"))))
		ts.Check(os.Chmod(filepath.Join(ts.MkAbs(args[1]), "assay.key"), 0o600))
	}
	if _, err := os.Stat(filepath.Join(ts.MkAbs(args[0]), "evidence", "manifest.json")); err != nil {
		ts.Fatalf("the run that the scripts share was not recorded")
	}
}
