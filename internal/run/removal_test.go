//go:build live

package run_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/load/fleet/local"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// unremoved is an engine whose workers are processes on this host, and cannot be removed
// completely.
type unremoved struct {
	local.Engine
	dir    string // folder of the run
	fleet  *unremovedFleet
	sealed bool // the record, before the workers were removed
}

type unremovedFleet struct {
	fleet.Workers
	engine *unremoved
}

func (e *unremoved) Start(ctx context.Context, l fleet.Launch) (fleet.Workers, error) {
	w, err := e.Engine.Start(ctx, l)
	e.fleet = &unremovedFleet{w, e}
	return e.fleet, err
}

func (f *unremovedFleet) Close() error {
	f.engine.sealed = record.CheckSeal(f.engine.dir) == nil
	return errors.Join(f.Workers.Close(), hint.With(errors.New("job/shop-workers is still being deleted"), "kubectl delete job/shop-workers"))
}

// The record is sealed before the run's rows are removed, with its ledger and invariants;
// rows that cannot be removed are reported beside it.
func TestRowsThatCannotBeRemoved(t *testing.T) {
	t.Parallel()
	cpus(t, 0.2)
	s := serve(t, "mariadb", "--ingest", "bulk")
	db := mysqldtest.Open(t, s.dsn)
	mysqldtest.Exec(t, db, "CREATE TRIGGER kept BEFORE DELETE ON events FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'events are kept'")
	o := s.ingestion(t, "ingestion", 50, 3*time.Second)
	o.Profile.Invariants = []spec.Invariant{{Name: "no event", SQL: "SELECT 1 FROM events WHERE run_id = ?"}}
	var reported []string
	o.Progress = func(e run.Event) {
		if e.Kind == run.Note && strings.Contains(e.Text, "were not all removed") {
			reported = append(reported, e.Text)
			if err := record.CheckSeal(o.Dir); err != nil {
				t.Errorf("the rows were removed before the seal: %v", err)
			}
		}
	}
	r := certify(t, o)
	if len(reported) != 1 || !strings.Contains(reported[0], "events are kept; remove them by the profile's ledger.cleanup, with the run "+o.ID) {
		t.Errorf("reported %q", reported)
	}
	if l := r.Ledger; l == nil || l.Missing != 0 || s.rows(t)["events"] != strconv.FormatInt(l.Persisted, 10) {
		t.Errorf("ledger %+v, %s rows", l, s.rows(t)["events"])
	}
	if i := r.Facts.Invariants; len(i) != 1 || i[0].Rows == 0 || i[0].Error != "" {
		t.Errorf("invariants %+v", i)
	}
}

// If workers cannot be removed after a run, its verdict and its record are as if they had
// been, and what is left is reported.
func TestWorkersThatCannotBeRemoved(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{"after a complete run": false, "one of them was killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cpus(t, 0.2)
			expect := func(t *testing.T) verdict.Verdict {
				server := httptest.NewServer(http.HandlerFunc(think))
				defer server.Close()
				o := options(t, loose(steady(100, 10*time.Second)), getScript, server.URL)
				engine := &unremoved{Engine: local.Engine{}, dir: o.Dir}
				o.Join, o.Engine = run.Join{Remote: true, Listen: "127.0.0.1:0"}, engine
				var notes []string
				o.Progress = func(e run.Event) {
					switch {
					case e.Kind == run.Note:
						notes = append(notes, e.Text)
					case e.Kind == run.Enter && e.Stage.Name == plan.Hold && killed:
						engine.fleet.Kill()
					}
				}
				r := certify(t, o)
				if !engine.sealed {
					t.Error("the record was not sealed before the workers were removed")
				}
				if !slices.ContainsFunc(notes, func(text string) bool {
					return strings.Contains(text, "job/shop-workers is still being deleted; kubectl delete job/shop-workers")
				}) {
					t.Errorf("notes %q", notes)
				}
				return verdict.Judge(r)
			}
			if !killed {
				expectPass(t, expect)
				return
			}
			v := expect(t)
			if found := brokenRules(v); v.Outcome != verdict.Invalid || !strings.Contains(found["worker-lost"], "was killed") {
				t.Errorf("verdict %s: %s; broken: %v", v.Outcome, v.Claim, found)
			}
		})
	}
}
