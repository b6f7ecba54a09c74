//go:build live

package run

import (
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/wire"
)

// A continued run whose abort condition cannot be watched stops at once, also while a fault is
// still being ended, and a mistake of ours in it is like one in any run: the record is sealed,
// and says why and what came of the faults.
func TestContinuedRunThatMustStop(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		abort []spec.Abort
		panic bool
	}{
		"the abort condition db_sessions value>0.5 cannot be watched: there is nothing to read it from": {abort: []spec.Abort{{Metric: metric.DBSessions, Expression: "value>0.5", Limit: 0.5, For: time.Second}}},
		"this program failed: a mistake": {panic: true},
	} {
		t.Run(want, func(t *testing.T) {
			stopped := filepath.Join(t.TempDir(), "stopped")
			p := spec.Profile{
				Name: "payment", Flows: []spec.Flow{{Load: spec.Load{Unit: "tps", Target: 10, Hold: 10 * time.Second}, Timeout: time.Second}}, Abort: c.abort,
				Faults: []spec.Fault{{At: time.Second, For: time.Second, Run: []string{"true"}, Undo: []string{"sh", "-c", "until [ -e " + stopped + " ]; do sleep 0.02; done"}}},
			}
			r := continued(t, p)
			r.Progress = func(e Event) {
				if strings.HasPrefix(e.Text, "stopping: "+want) {
					_ = os.WriteFile(stopped, nil, 0o600)
				}
			}
			err := r.complete(t.Context(), func() {
				r.goOn(t.Context())
				if c.panic {
					panic("a mistake")
				}
			})
			if c.panic != (err != nil) {
				t.Errorf("%v", err)
			}
			sealed, err := record.Open(r.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := sealed.Facts.Stopped; !strings.HasPrefix(got, want) {
				t.Errorf("stopped: %s", got)
			}
			if all := sealed.Facts.Faults; len(all) != 1 || all[0].Error == "" || all[0].EndError != "" {
				t.Errorf("faults: %+v", all)
			}
		})
	}
}

// continued is a run of one worker, which has ended, whose coordinator was killed.
func continued(t *testing.T, p spec.Profile) *loading {
	t.Helper()
	target := httptest.NewServer(nil)
	t.Cleanup(target.Close)
	load, err := plan.New(p, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	planned := record.Plan{Schema: "assay/plan/v1", Run: "run", Profile: p, Load: load, Scope: spec.ScopeSmoke, Target: target.URL}
	w, err := record.Create(dir, planned)
	if err == nil {
		err = w.Environment(record.Environment{Schema: "assay/environment/v1"})
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	o := Options{ID: "run", Dir: dir, Resume: true, ForceStop: t.Context(), Log: slog.New(slog.DiscardHandler), Progress: func(Event) {}}
	o.Join.Token = "token-of-a-test-0123456789"
	r, err := reopen(&o, savedState{State: fleet.State{T0: time.Now().Truncate(time.Second), Members: []wire.Hello{{Identity: "one"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
