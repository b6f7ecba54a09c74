//go:build live

package run

import (
	"path/filepath"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/signature"
	"assay.dev/assay/internal/spec"
)

// A continued run seals its record with the key that has sealed its begin, and with no other:
// a folder that somebody has put together does not become a run's by continuing it.
func TestSealOfContinuedRun(t *testing.T) {
	sealer := func() record.Sealer {
		text, _, err := signature.Generate(signature.ECDSAP256)
		if err != nil {
			t.Fatal(err)
		}
		key, err := signature.ParsePrivate(text)
		if err != nil {
			t.Fatal(err)
		}
		return signature.NewSealer(&key)
	}
	begin := func(id string, s record.Sealer) (*Options, []byte) {
		r := &Options{ID: id, Dir: filepath.Join(t.TempDir(), id), Sealer: s, Progress: func(Event) {}}
		p := spec.Profile{Name: "payment", Flows: []spec.Flow{{Timeout: 5 * time.Second, Load: spec.Load{Unit: "tps", Target: 60, Hold: 10 * time.Second}}}}
		load, err := plan.New(p, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		_, err = record.Create(r.Dir, record.Plan{Schema: "assay/plan/v1", Run: id, Profile: p, Load: load, Scope: spec.ScopeSmoke})
		if err != nil {
			t.Fatal(err)
		}
		seal, err := r.sealBegin()
		if err != nil {
			t.Fatal(err)
		}
		return r, seal
	}
	key := sealer()
	r, own := begin("a", key)
	_, without := begin("b", nil)
	_, another := begin("c", sealer())
	_, elsewhere := begin("d", key)
	for name, c := range map[string]struct {
		seal []byte
		want record.Sealer
	}{"its own": {own, key}, "without a key": {without, nil}, "another key": {another, nil}, "another run": {elsewhere, nil}} {
		if got := r.beginSealer(c.seal); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	// The seal of a begin is none of a record.
	_, plan, err := r.begun()
	if err != nil || key.Verify(own, "a", plan) == nil {
		t.Errorf("it seals a record: %v", err)
	}
}
