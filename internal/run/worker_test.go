//go:build live

package run_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
)

// A worker that is killed in the hold, alone or one of two, ends the run, which is INVALID
// by the rule worker-lost and reports the kill.
func TestKilledWorkerInvalidatesRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ workers, victim int }{
		"the only one": {1, 0}, "the first of two": {2, 0}, "the second of two": {2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cpus(t, 0.25)
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			defer server.Close()
			o := options(t, steady(100, 20*time.Second), getScript, server.URL)
			o.Workers = c.workers
			var killed time.Time
			o.Progress = func(e run.Event) {
				if killed.IsZero() && e.Kind == run.Tick && e.Stage.Name == plan.Hold && e.Offset > 5*time.Second {
					killed = time.Now()
					if err := syscall.Kill(worker(t, o.ID, c.victim), syscall.SIGKILL); err != nil {
						t.Error(err)
					}
				}
			}
			r := certify(t, o)
			took := time.Since(killed)
			if took > stopBound {
				t.Errorf("the run took %s to end", took)
			}
			v := verdict.Judge(r)
			if found := brokenRules(v); v.Outcome != verdict.Invalid || !strings.Contains(found["worker-lost"], "killed") || !strings.Contains(v.Claim, found["worker-lost"]) {
				t.Errorf("verdict %s, want INVALID: %s; broken: %v", v.Outcome, v.Claim, found)
			}
			if !strings.Contains(r.Facts.Stopped, "killed") {
				t.Errorf("the record does not say what stopped it: %q", r.Facts.Stopped)
			}
			for i, w := range r.Facts.Workers {
				if (w.Exit == "signal: killed") != (i == c.victim) {
					t.Errorf("%s exited with %q: %s", w.Source, w.Exit, w.Error)
				}
			}
			t.Logf("ended %s after the kill: %s", took.Round(time.Millisecond), v.Claim)
		})
	}
}

// A worker that fails before the start is an error with the reason, and the run leaves
// nothing.
func TestWorkerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script  string
		workers int
		limit   time.Duration
		want    string // in the error
		hint    string
	}{
		"setup throws":            {"export function setup() { throw new Error('no stock'); }\nexport default function () {}\n", 1, 0, "no stock", "assay k6 run"},
		"setup throws, of two":    {"export function setup() { throw new Error('no stock'); }\nexport default function () {}\n", 2, 0, "no stock", "assay k6 run"},
		"setup takes too long":    {slowSetup, 1, 3 * time.Second, "workers are ready to start: the limit is 3s", "setup()"},
		"VUs take too long":       {slowInit, 1, 3 * time.Second, "workers are ready to start: the limit is 3s", "setup()"},
		"one throws in its init":  {"if (__ENV.ASSAY_WORKER === '1') throw new Error('no second');\nexport default function () {}\n", 2, 0, "no second", "assay k6 run"},
		"the script ends the run": {"import exec from 'k6/execution';\nexport function setup() { exec.test.abort('closed today'); }\nexport default function () {}\n", 1, 0, "closed today", "assay k6 run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cpus(t, 0.8)
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			defer server.Close()
			o := options(t, steady(100, 10*time.Second), c.script, server.URL)
			o.Workers, o.StartTimeout = c.workers, c.limit
			start := time.Now()
			_, err := certifyUntil(t.Context(), t, o)
			if took := time.Since(start); took > time.Minute {
				t.Errorf("the error took %s", took)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || !strings.Contains(hint.Of(err), c.hint) {
				t.Errorf("error %q, hint %q; want one line with %q, and %q", err, hint.Of(err), c.want, c.hint)
			}
			if _, err := os.Stat(o.Dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the run folder is left: %v", err)
			}
			t.Logf("%v", err)
		})
	}
}
