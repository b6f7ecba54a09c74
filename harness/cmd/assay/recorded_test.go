//go:build live

package main

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
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

// recorded-run DIR writes a copy of the record of a real run to DIR, without a
// certificate, and the run's thresholds.json and order.js to the script's folder. The
// run is a PASS of profile orders, 40 tps for 10 s, on the scripts' service and database.
func recordedRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: recorded-run DIR")
	}
	for name, text := range map[string]string{"thresholds.json": recordingThresholds, "order.js": recordingScript} {
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
	r := ts.Value(recordingKey{}).(*recording)
	r.once.Do(func() {
		ts.Setenv("ASSAY_DB", ts.Getenv("DB"))
		defer ts.Setenv("ASSAY_DB", "")
		ts.Check(ts.Exec("assay", "certify", "orders", "--quiet", "--target", ts.Getenv("TARGET"), "--out", "recording"))
		made := filepath.Join(ts.MkAbs("recording"), "evidence")
		ts.Check(os.CopyFS(filepath.Join(r.dir, "evidence"), os.DirFS(made)))
		ts.Check(os.RemoveAll(ts.MkAbs("recording")))
	})
	ts.Check(os.CopyFS(ts.MkAbs(args[0]), os.DirFS(r.dir)))
	if _, err := os.Stat(filepath.Join(ts.MkAbs(args[0]), "evidence", "manifest.json")); err != nil {
		ts.Fatalf("the run that the scripts share was not recorded")
	}
}
