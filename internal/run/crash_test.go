//go:build live

package run_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
)

// A panic of ours under load, in the run itself or in one of its goroutines, ends the run in
// order: its record is sealed and says why, the database is restored, and neither workers nor
// folders are left.
func TestPanicUnderLoad(t *testing.T) {
	cpus(t, 0.35)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	s := serve(t, "mariadb")
	setup := s.instruments(t)
	for name, at := range map[string]func(run.Event) bool{
		"of the run": enter(plan.Hold), "of a goroutine": step("injecting the fault"),
	} {
		o := options(t, steady(20, 60*time.Second), getScript, s.url)
		o.DSN = s.dsn
		o.Profile.Faults = []spec.Fault{{At: time.Second, Run: []string{"true"}}}
		ctx, cancel := context.WithCancelCause(t.Context())
		crash.Watch(cancel)
		t.Cleanup(func() { crash.Watch(func(err error) { panic(err) }) })
		panicked := false
		o.Progress = func(e run.Event) {
			if panicked = panicked || at(e); panicked { // whatever it is called for
				panic("a mistake")
			}
		}
		err := run.Run(ctx, o)
		var ours *crash.Error
		if !errors.As(errors.Join(err, context.Cause(ctx)), &ours) || ours.What != "a mistake" || !strings.HasPrefix(ours.Where, "internal/run/") {
			t.Errorf("%s: %v", name, err)
		}
		r, err := record.Open(o.Dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if v := verdict.Judge(r); v.Outcome != verdict.Invalid || !strings.Contains(r.Facts.Stopped, "this program failed: a mistake") {
			t.Errorf("%s: %s, stopped: %s", name, v.Outcome, r.Facts.Stopped)
		}
		if after := s.instruments(t); !maps.Equal(after, setup) {
			t.Errorf("%s: instruments or consumers are not as they were", name)
		}
		if left, err := filepath.Glob(filepath.Join(temporary, "assay-*")); err != nil || len(left) > 0 {
			t.Errorf("%s: left: %v, %v", name, left, err)
		}
		_ = os.RemoveAll(o.Dir)
	}
}
