//go:build live

package run_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
)

// stopBound is how long a run may take to end once it is interrupted.
const stopBound = time.Minute

// slowInit takes 1 s in every VU's init code: the VUs together take longer than any test
// waits before it stops them.
const slowInit = `
import http from 'k6/http';
const end = Date.now() + 1000;
while (Date.now() < end) {}
export default function () { http.get(__ENV.ASSAY_TARGET + '/'); }
`

const slowSetup = `
import { sleep } from 'k6';
export function setup() { sleep(600); }
export default function () {}
`

// stopAfter interrupts the run the given time after the first event for which when is
// true, and returns how long the run took to end.
func stopAfter(t *testing.T, o run.Options, later time.Duration, when func(run.Event) bool) (took time.Duration, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var at time.Time
	seen := false
	o.Progress = func(e run.Event) {
		if seen || !when(e) {
			return
		}
		seen = true
		time.AfterFunc(later, func() { at = time.Now(); cancel() })
	}
	_, err = certifyUntil(ctx, t, o)
	if ctx.Err() == nil {
		t.Fatal("the run ended before it was stopped")
	}
	if took = time.Since(at); took > stopBound {
		t.Errorf("the run took %s to end, more than %s", took, stopBound)
	}
	return took, err
}

func step(prefix string) func(run.Event) bool {
	return func(e run.Event) bool { return e.Kind == run.Step && strings.HasPrefix(e.Text, prefix) }
}

func enter(stage string) func(run.Event) bool {
	return func(e run.Event) bool { return e.Kind == run.Enter && e.Stage.Name == stage }
}

// A run that is stopped before t0 leaves no folder and no worker, and the database as it
// was.
func TestStopBeforeStartLeavesNothing(t *testing.T) {
	t.Parallel()
	cpus(t, 0.6)
	s := serve(t, "mariadb")
	setup := s.instruments(t)
	for name, script := range map[string]string{"while VUs initialise": slowInit, "in setup()": slowSetup} {
		t.Run(name, func(t *testing.T) {
			o := options(t, steady(60, 10*time.Second), script, s.url)
			o.DSN = s.dsn
			took, err := stopAfter(t, o, 1500*time.Millisecond, step("initialising"))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error is %v", err)
			}
			if _, err := os.Stat(o.Dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the run folder is left: %v", err)
			}
			if after := s.instruments(t); !maps.Equal(after, setup) {
				t.Error("instruments or consumers are not as they were")
			}
			t.Logf("ended %s after the interrupt: %v", took.Round(time.Millisecond), err)
		})
	}
}

// A run that one worker prevents after setup() has its teardown().
func TestTeardownOfRunThatNeverBegan(t *testing.T) {
	t.Parallel()
	cpus(t, 0.4)
	var undone atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/teardown" {
			undone.Add(1)
		}
	}))
	defer server.Close()
	o := options(t, steady(60, 10*time.Second), `
import http from 'k6/http';
import { sleep } from 'k6';
if (__ENV.ASSAY_WORKER === '1') {
  const end = Date.now() + 3000;
  while (Date.now() < end) {}
  throw new Error('a mistake');
}
export function setup() {}
export default function () {}
export function teardown() { sleep(4); http.get(__ENV.ASSAY_TARGET + '/teardown'); }
`, server.URL)
	o.Workers = 2
	if _, err := certifyUntil(t.Context(), t, o); err == nil || !strings.Contains(err.Error(), "a mistake") {
		t.Errorf("%v", err)
	}
	if n := undone.Load(); n != 1 {
		t.Errorf("teardown() has ended %d times", n)
	}
}

// A run that is stopped after t0 has a sealed record with an outcome for each transaction
// up to the stop, and is INVALID.
func TestStopAfterStartSealsRecord(t *testing.T) {
	t.Parallel()
	cpus(t, 0.35)
	s := serve(t, "mariadb")
	setup := s.instruments(t)
	type stop struct {
		name  string
		hold  time.Duration
		later time.Duration
		when  func(run.Event) bool
		read  string // added to the profile's query of persisted rows
		rules []string
	}
	stops := []stop{
		{"in the warm-up", 3 * time.Minute, 1200 * time.Millisecond, enter(plan.Warmup), "", []string{"complete"}},
		{"in the hold", 3 * time.Minute, 1500 * time.Millisecond, enter(plan.Hold), "", []string{"complete"}},
		{"while the ledger is read", 3 * time.Second, time.Second, step("comparing"), " AND SLEEP(0.02) = 0", []string{"data"}},
	}
	if !alone {
		stops = stops[1:]
	}
	for _, c := range stops {
		t.Run(c.name, func(t *testing.T) {
			o := s.payments(t, quickLoad(60, c.hold))
			ledger := *o.Profile.Flows[0].Ledger
			ledger.Persisted += c.read
			o.Profile.Flows[0].Ledger = &ledger
			took, err := stopAfter(t, o, c.later, c.when)
			if err != nil {
				t.Fatal(err)
			}
			r := open(t, o)
			scheduled, outcomes := checkAccounted(t, r)
			if !r.Facts.Interrupted || scheduled == 0 {
				t.Errorf("interrupted: %t, %d transactions scheduled", r.Facts.Interrupted, scheduled)
			}
			// Exactly the slots due before the stop were scheduled; workers receive the stop
			// after it was decided, and before the run ends.
			if due := r.Facts.Ended.Sub(r.Facts.T0); r.Facts.Stopped != "" {
				low, high := dueBy(r, due-2*time.Second), dueBy(r, due+took)
				if scheduled < low || scheduled > high {
					t.Errorf("%d transactions were scheduled, the plan has %d to %d by then", scheduled, low, high)
				}
			} else if scheduled != r.Plan.Load.Arrivals() {
				t.Errorf("%d transactions were scheduled, the plan has %d", scheduled, r.Plan.Load.Arrivals())
			}
			v := verdict.Judge(r)
			found := brokenRules(v)
			for _, id := range append(c.rules, "data") {
				if found[id] == "" {
					t.Errorf("rule %s is not broken", id)
				}
			}
			if v.Outcome != verdict.Invalid || found["frames"] != "" || found["accounted"] != "" {
				t.Errorf("verdict %s, want INVALID: %s; broken: %v", v.Outcome, v.Claim, found)
			}
			if after := s.instruments(t); !maps.Equal(after, setup) {
				t.Error("instruments or consumers are not as they were")
			}
			if rows := s.rows(t); rows["payments"] != "0" || rows["ledger_entries"] != "0" {
				t.Errorf("rows are left: %v", rows)
			}
			t.Logf("ended %s after the interrupt; %d scheduled: %v; %s", took.Round(time.Millisecond), scheduled, outcomes, v.Claim)
		})
	}
}

// Hanging requests do not delay the stop, and every transaction has an outcome: those under
// way, and those that waited for a free VU.
func TestStopWhileTargetHangs(t *testing.T) {
	t.Parallel()
	cpus(t, 0.2)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hang(r) }))
	defer server.Close()
	o := options(t, steady(200, 3*time.Minute), getScript, server.URL)
	o.Workers = 2
	took, err := stopAfter(t, o, 2*time.Second, enter(plan.Hold))
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, o)
	scheduled, outcomes := checkAccounted(t, r)
	if scheduled < 600 || outcomes["timed_out"]+outcomes["dropped"] != scheduled || outcomes["timed_out"] == 0 || outcomes["dropped"] == 0 {
		t.Errorf("%d scheduled: %v", scheduled, outcomes)
	}
	if v := verdict.Judge(r); v.Outcome != verdict.Invalid || !r.Facts.Interrupted || brokenRules(v)["frames"] != "" {
		t.Errorf("verdict %s: %s", v.Outcome, v.Claim)
	}
	t.Logf("ended %s after the interrupt; %d scheduled: %v", took.Round(time.Millisecond), scheduled, outcomes)
}
