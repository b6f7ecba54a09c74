//go:build long

package run_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/run"
)

// A stub that is started again under load, and one that ends, are limitations, and the run
// ends all the same.
func TestLongStubRestarts(t *testing.T) {
	t.Parallel()
	cpus(t, 0.15)
	b := startBank(t, `{"name": "charge", "match": "POST /charge", "latency": {"fixed": "1ms"}}`, "")
	p := loose(steady(20, 8*time.Second))
	o := b.options(t, p)
	restarted := make(chan bool)
	o.Progress = during(2*time.Second, func() {
		defer close(restarted)
		b.stop(t)
		b.start(t)
	})
	r := certify(t, o)
	<-restarted
	if text := strings.Join(r.Facts.Limitations, "\n"); !strings.Contains(text, "the stub bank was restarted ") {
		t.Errorf("limitations %q", text)
	}
	if s := r.Facts.Stubs; len(s) != 1 || s[0].Ledger == nil || s[0].Ledger.Calls == 0 {
		t.Errorf("stubs %+v", s)
	}
	if state, err := b.client.State(t.Context()); err != nil || state.Run != "" {
		t.Errorf("after the run: %+v, %v", state, err)
	}

	o = b.options(t, p)
	stopped := make(chan bool)
	o.Progress = during(2*time.Second, func() { defer close(stopped); b.stop(t) })
	r = certify(t, o)
	<-stopped
	failed := false
	for _, c := range r.Facts.Collectors {
		failed = failed || c.Source == "stub/bank" && c.State == record.StateFailed && strings.Contains(c.Reason, "does not answer")
	}
	if v := verdict.Judge(r); !failed || !strings.Contains(strings.Join(v.Limitations, "\n"), "stub/bank was not observed (stub bank does not answer") {
		t.Errorf("collectors %+v, limitations %q", r.Facts.Collectors, v.Limitations)
	}
	if text := strings.Join(r.Facts.Limitations, "\n"); !strings.Contains(text, "the ledger of stub bank was not read") {
		t.Errorf("limitations %q", text)
	}

	// Without the stub, none of its runs begins.
	o = b.options(t, p)
	if err := run.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "stub bank does not answer") || hint.Of(err) == "" {
		t.Errorf("without the stub: %v", err)
	}
	if _, err := os.Stat(o.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it leaves a folder: %v", err)
	}
}
