//go:build live

package run_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
)

// absent are the nodes of a stack that has only a.
type absent struct{}

func (absent) Names() []string                          { return []string{"a"} }
func (absent) Ready(context.Context, string) error      { return nil }
func (absent) Do(context.Context, string, string) error { return nil }

// A fault that the run could not inject is refused before the load.
func TestImpossibleFaults(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	o := options(t, steady(5, 20*time.Second), getScript, "http://127.0.0.1:1")
	o.Profile.Faults = []spec.Fault{{At: time.Second, Node: "b", Do: spec.DoKill}}
	for nodes, want := range map[run.Nodes]string{nil: "this run has none", absent{}: "the stack has no node b"} {
		o.FaultNodes = nodes
		if err := run.Check(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A run that is interrupted during a fault ends the fault, and its record says so.
func TestInterruptedDuringFault(t *testing.T) {
	t.Parallel()
	cpus(t, 0.1)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	seen := filepath.Join(t.TempDir(), "seen")
	note := func(word string) []string { return []string{"sh", "-c", "echo " + word + " >>" + seen} }
	o := options(t, steady(10, 2*time.Minute), getScript, server.URL)
	o.Profile.Faults = []spec.Fault{{At: time.Second, For: 15 * time.Second, Run: note("begin"), Undo: note("end")}}
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(e run.Event) {
		if e.Kind == run.Step && strings.HasPrefix(e.Text, "injecting the fault") {
			time.AfterFunc(time.Second, cancel)
		}
	}
	if _, err := certifyUntil(ctx, t, o); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(seen); err != nil || string(text) != "begin\nend\n" {
		t.Errorf("%v; the commands wrote %q", err, text)
	}
	r := open(t, o)
	if len(r.Facts.Faults) != 1 || r.Facts.Faults[0].Ended.IsZero() || r.Facts.Faults[0].EndError != "" {
		t.Errorf("%+v", r.Facts.Faults)
	}
}

// A fault that cannot be injected, or not be ended, makes a run INVALID, with the reason.
func TestFaultsThatFail(t *testing.T) {
	t.Parallel()
	cpus(t, 0.1)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	o := options(t, steady(10, 10*time.Second), getScript, server.URL)
	o.Profile.Faults = []spec.Fault{
		{At: time.Second, Run: []string{"sh", "-c", "echo no such host >&2; exit 3"}},
		{At: 2 * time.Second, For: time.Second, Run: []string{"true"}, Undo: []string{"false"}},
	}
	v := verdict.Judge(certify(t, o))
	if v.Outcome != verdict.Invalid || !strings.Contains(v.Claim, "fault 1 (sh) was not injected: run sh: exit status 3: no such host") || !strings.Contains(v.Claim, "fault 2 (true) could not be ended: run false: exit status 1") {
		t.Errorf("%s: %s", v.Outcome, v.Claim)
	}
}
