package journey

import (
	"slices"
	"time"
	_ "unsafe" // for go:linkname

	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/js/modules"

	"assay.dev/assay/internal/load/arrivals"
)

// k6Instance makes k6's own module of a VU. It is internal to k6, and the only way to learn how
// long a script sleeps, which is no time of its own work.
//
//go:linkname k6Instance go.k6.io/k6/v2/internal/js/modules/k6.(*RootModule).NewModuleInstance
func k6Instance(root *struct{}, vu modules.VU) modules.Instance

// k6Root is the module k6, whose sleep() is reported.
type k6Root struct{ vus *arrivals.VUs }

// NewModuleInstance makes the module of a VU.
func (r k6Root) NewModuleInstance(vu modules.VU) modules.Instance {
	exports := k6Instance(nil, vu).Exports()
	sleep, ok := exports.Named["sleep"].(func(float64))
	if !ok {
		arrivals.Untimed()
		return k6Module{exports}
	}
	exports.Named["sleep"] = func(seconds float64) {
		from, state := time.Now(), vu.State()
		sleep(seconds)
		if state == nil {
			return
		}
		if p := r.vus.Pauses(state.VUID); p != nil {
			p.Slept(from, state.Samples)
		}
	}
	return k6Module{exports}
}

type k6Module struct{ exports modules.Exports }

// Exports are those of k6's module.
func (m k6Module) Exports() modules.Exports { return m.exports }

// untimedRoot is a module of an extension of k6, whose waits nobody times.
type untimedRoot struct{ modules.Module }

// NewModuleInstance makes the module of a VU.
func (r untimedRoot) NewModuleInstance(vu modules.VU) modules.Instance {
	arrivals.Untimed()
	return r.Module.NewModuleInstance(vu)
}

// Watch has scripts import a k6 whose sleep() is reported, and that reports all calls of gRPC, and
// notes whether they import an extension of k6 other than those that report how long their calls
// take.
func Watch(vus *arrivals.VUs, timed ...string) {
	for name, e := range ext.Get(ext.JSExtension) {
		if m, ok := e.Module.(modules.Module); ok && name != ImportPath && !slices.Contains(timed, name) {
			e.Module = untimedRoot{m}
		}
	}
	ext.Register("k6", ext.JSExtension, k6Root{vus})
	watchCalls(vus)
}
