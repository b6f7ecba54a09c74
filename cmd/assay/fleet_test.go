//go:build live

package main

import (
	"testing"

	"assay.dev/assay/internal/run"
)

// The address in the environment is for workers that join. Those that wait there must not
// join a run that starts its own.
func TestListenFromEnvironment(t *testing.T) {
	t.Setenv(envListen, "10.0.0.5:7077")
	for _, c := range []struct{ engine, flag, want string }{
		{engineLocal, "", ""},
		{engineLocal, "127.0.0.1:7078", "127.0.0.1:7078"},
		{"join", "", "10.0.0.5:7077"},
		{"join", "127.0.0.1:7078", "127.0.0.1:7078"},
	} {
		f := fleetFlags{engine: c.engine, weights: "equal", join: run.Join{Listen: c.flag, Timeout: run.DefaultJoinTimeout}}
		var o run.Options
		if err := f.apply(&o); err != nil {
			t.Fatal(err)
		}
		if o.Join.Listen != c.want {
			t.Errorf("--engine %s --listen %q listens on %q, want %q", c.engine, c.flag, o.Join.Listen, c.want)
		}
	}
}
