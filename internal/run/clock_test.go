//go:build long

package run_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

// setClock changes this machine's wall clock by the given time, which needs root.
func setClock(t *testing.T, by time.Duration) (ok bool) {
	t.Helper()
	seconds := by / time.Second
	if by < 0 && by%time.Second != 0 {
		seconds--
	}
	tx := unix.Timex{Modes: unix.ADJ_SETOFFSET | unix.ADJ_NANO}
	tx.Time.Sec, tx.Time.Usec = int64(seconds), int64(by-seconds*time.Second)
	_, err := unix.Adjtimex(&tx)
	if err != nil {
		t.Errorf("set the clock: %v (this test needs root)", err)
	}
	return err == nil
}

// Somebody sets the clock by 2 s during the run: no second is lost, no latency depends on
// it, and an SLO that compares two clocks is not judged. The test does not run in
// parallel, as it would change the clock of other tests too.
func TestLongClockStep(t *testing.T) {
	s := serve(t, "mariadb")
	for name, c := range map[string]struct {
		by  time.Duration
		lag bool // the profile judges persist_lag
	}{
		"forward":              {2 * time.Second, true},
		"back":                 {-2 * time.Second, true},
		"no clock is compared": {-2 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := s.payments(t, quickLoad(60, 5*time.Second))
			if !c.lag {
				o.Profile.Flows[0].SLOs = slices.DeleteFunc(o.Profile.Flows[0].SLOs, func(s spec.SLO) bool { return s.Metric == metric.PersistLag })
			}
			var mu sync.Mutex
			stepped, done := false, false
			o.Progress = during(2*time.Second, func() {
				mu.Lock()
				defer mu.Unlock()
				stepped = !done && setClock(t, c.by)
			})
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				if done = true; stepped {
					setClock(t, -c.by)
				}
			}()
			r := certify(t, o)
			scheduled, outcomes := checkAccounted(t, r)
			if planned := r.Plan.Load.Arrivals(); scheduled != planned || outcomes["completed"] != planned {
				t.Errorf("%d of %d planned transactions were scheduled: %v", scheduled, planned, outcomes)
			}
			v := verdict.Judge(r)
			found := brokenRules(v)
			maps.DeleteFunc(found, func(id, _ string) bool { return rulebook.Blames(id) == rulebook.Generator }) // a busy machine
			if (found["clock"] != "") != c.lag || len(found) > 1 || found["clock"] == "" && len(found) > 0 {
				t.Errorf("verdict %s: %s", v.Outcome, v.Claim)
				logRules(t, v)
			}
			if limitations := strings.Join(v.Limitations, "\n"); !c.lag && !strings.Contains(limitations, "clock was stepped by 2000 ms") {
				t.Errorf("the clock step is not a limitation: %s", limitations)
			}
			t.Logf("%s", v.Claim)
		})
	}
}
