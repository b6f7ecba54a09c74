package run_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/harness/hint"
	"assay/harness/judge/verdict"
	"assay/harness/load/fleet"
	"assay/harness/load/fleet/local"
	"assay/harness/observe/record"
	"assay/harness/plan"
	"assay/harness/run"
)

// unremoved is an engine whose workers are processes on this host, and cannot be removed
// completely.
type unremoved struct {
	local.Engine
	dir    string // of the run
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

// If workers cannot be removed after a run, its verdict and its record are as if they had
// been, and what is left is reported.
func TestWorkersThatCannotBeRemoved(t *testing.T) {
	for name, killed := range map[string]bool{"after a complete run": false, "one of them was killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect := func(t *testing.T) verdict.Verdict {
				server := httptest.NewServer(http.HandlerFunc(think))
				defer server.Close()
				o := options(t, loose(steady(100, 10*time.Second)), getScript, server.URL)
				engine := &unremoved{Engine: local.Engine{Executable: o.Executable}, dir: o.Dir}
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
