package journey

import (
	"errors"
	"fmt"
	"math"
	"time"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"

	"assay.dev/assay/internal/load/arrivals"
)

// ImportPath is the name under which scenarios/lib/think.js imports the module:
//
//	import { think } from 'k6/x/assay/journey';
//
//	think(2.5); // seconds
//
// In a run that follows no schedule of Assay, such as one of stock k6's executors, it only
// waits.
const ImportPath = "k6/x/assay/journey"

// Register makes the module known to k6. vus are those that serve a schedule.
func Register(vus *arrivals.VUs) { modules.Register(ImportPath, &root{vus}) }

type root struct{ vus *arrivals.VUs }

// NewModuleInstance makes the module of a VU.
func (r *root) NewModuleInstance(vu modules.VU) modules.Instance { return &module{vu, r.vus} }

// module is the module of one VU.
type module struct {
	vu  modules.VU
	vus *arrivals.VUs
}

// Exports is think.
func (m *module) Exports() modules.Exports {
	return modules.Exports{Named: map[string]any{"think": m.think}}
}

// maxSeconds is above every think time of a profile.
const maxSeconds = 3600

func (m *module) think(seconds float64) {
	if err := m.wait(seconds); err != nil {
		common.Throw(m.vu.Runtime(), fmt.Errorf("think: %w", err))
	}
}

func (m *module) wait(seconds float64) error {
	state := m.vu.State()
	switch {
	case state == nil:
		return errors.New("it cannot be used outside of the default function")
	case math.IsNaN(seconds) || seconds < 0 || seconds > maxSeconds:
		return fmt.Errorf("%g is not a number of seconds from 0 to %d", seconds, maxSeconds)
	}
	d := time.Duration(seconds * float64(time.Second))
	if p := m.vus.Pauses(state.VUID); p != nil {
		return p.Take(m.vu.Context(), d, state.Samples)
	}
	select {
	case <-time.After(d):
	case <-m.vu.Context().Done():
	}
	return nil
}
