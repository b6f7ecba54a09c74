package system

import (
	"fmt"

	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/lab/stack"
)

// checkStack is the name of the check of the local stack.
const checkStack = "stack"

// findStack checks that the local stack is up or can be started, and returns its state
// if it is up.
func findStack() (*stack.State, doctor.Finding) {
	f := doctor.Finding{Check: checkStack, State: doctor.OK, Needed: "up, or can be started"}
	lacking := func(observed, why, remedy string) (*stack.State, doctor.Finding) {
		f.State, f.Observed, f.Why, f.Remedy = doctor.Lacking, observed, why, remedy
		return nil, f
	}
	state, processes, err := stack.Status(stack.DefaultDir)
	if err != nil {
		return lacking("not known", err.Error(), "assay stack status")
	}
	down := ""
	for _, p := range processes {
		if p.Condition != stack.IsUp && p.Name != stack.InfluxName { // a run is possible without InfluxDB
			down = fmt.Sprintf("%s is %s", p.Name, p.Condition)
		}
	}
	if state != nil && down == "" {
		f.Observed = "up, at " + state.TargetURL()
		return state, f
	}
	server, err := stack.Server(stack.DefaultDir)
	if err != nil {
		return lacking("down, and cannot be started", err.Error(), "apt-get install mariadb-server-core; or name another service with --target")
	}
	f.Observed = fmt.Sprintf("%s; certify starts it, with %s %s, or: assay stack up", down, server.Flavour, server.Version)
	return nil, f
}
