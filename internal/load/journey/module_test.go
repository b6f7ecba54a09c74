package journey

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"

	"assay.dev/assay/internal/load/arrivals"
)

// fakeVU is a VU that serves no schedule.
type fakeVU struct {
	modules.VU
	ctx   context.Context
	state *lib.State
}

func (v *fakeVU) Context() context.Context { return v.ctx }
func (v *fakeVU) State() *lib.State        { return v.state }

// In a run that follows no schedule think() only waits, at most until the run ends.
func TestThinkWithoutASchedule(t *testing.T) {
	running, ended := &lib.State{VUID: 1}, time.Second
	for name, c := range map[string]struct {
		state   *lib.State
		seconds float64
		waits   time.Duration
		fails   bool
	}{
		"a part of a second":      {running, 0.25, 250 * time.Millisecond, false},
		"nothing":                 {running, 0, 0, false},
		"until the run ends":      {running, 5, ended, false},
		"outside of the function": {nil, 0.25, 0, true},
		"no number":               {running, math.NaN(), 0, true},
		"negative":                {running, -1, 0, true},
		"too long":                {running, maxSeconds + 1, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), ended)
				defer cancel()
				begin := time.Now()
				err := (&module{&fakeVU{ctx: ctx, state: c.state}, &arrivals.VUs{}}).wait(c.seconds)
				if took := time.Since(begin); took != c.waits || (err != nil) != c.fails {
					t.Errorf("waited for %s, want %s: %v", took, c.waits, err)
				}
			})
		})
	}
}
