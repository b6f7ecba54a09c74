//go:build live

package run_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/run"
)

// withAck makes a run of a script that acknowledges by the module of the project.
func withAck(t *testing.T, script, target string) run.Options {
	t.Helper()
	o := options(t, loose(steady(40, 4*time.Second)), "import http from 'k6/http';\nimport { ack } from './ledger.js';\n"+script, target)
	module, err := os.ReadFile("../../scenarios/lib/ledger.js")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(o.File.Path), "ledger.js"), module, 0o644); err != nil {
		t.Fatal(err)
	}
	return o
}

// Identities of __VU and __ITER are distinct over all workers, also where the script uses __VU as
// it initialises. Their form is recorded.
func TestVUsAreUniqueOverWorkers(t *testing.T) {
	t.Parallel()
	cpus(t, 0.15)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	o := withAck(t, `
const first = __VU;
export default function () {
  http.get(__ENV.ASSAY_TARGET + '/');
  if (first !== __VU) { throw new Error('__VU has changed'); }
  ack(__VU * 100000 + __ITER);
}`, server.URL)
	o.Workers = 3
	r := certify(t, o)
	acks := acknowledged(t, o)
	if len(acks) == 0 || int64(len(acks)) != r.Plan.Load.Arrivals() {
		t.Errorf("%d distinct identities of %d transactions", len(acks), r.Plan.Load.Arrivals())
	}
	for _, s := range r.Timeline.Series(metric.AcknowledgedForms) {
		if form := s.Label("form"); !strings.HasSuffix(form, "-digit number") {
			t.Errorf("identities are a %s", form)
		}
	}
	if n, _ := r.Timeline.Sum(metric.AcknowledgedForms, nil, record.All); int64(n) != r.Plan.Load.Arrivals() {
		t.Errorf("forms of %g identities are recorded", n)
	}
}

// A number that JavaScript has rounded is no identity: the run ends, and shows nothing. What is
// no identity at all fails the transaction.
func TestWhatIsAcknowledged(t *testing.T) {
	t.Parallel()
	cpus(t, 0.15)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"id": 9007199254740993}`))
	}))
	defer server.Close()
	for id, want := range map[string]struct {
		outcome verdict.Outcome
		logged  string
	}{
		"r.json().id":                       {verdict.Invalid, "JavaScript has rounded"},
		"r.body.match(/[0-9]+/)[0]":         {verdict.Pass, ""},
		"BigInt(r.body.match(/[0-9]+/)[0])": {verdict.Pass, ""},
		"r.json().missing":                  {verdict.Fail, "ack(): undefined is no identity"},
	} {
		r := certify(t, withAck(t, `export default function () { const r = http.get(__ENV.ASSAY_TARGET + '/'); ack(`+id+`); }`, server.URL))
		if v := verdict.Judge(r); v.Outcome != want.outcome || !strings.Contains(r.Facts.Workers[0].Logged, want.logged) {
			t.Errorf("ack(%s): %s: %s; %s", id, v.Outcome, v.Claim, r.Facts.Workers[0].Logged)
		}
	}
}
