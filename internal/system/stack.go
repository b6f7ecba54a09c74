package system

import (
	"cmp"
	"context"
	"fmt"

	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/localstack"
)

// checkStack is the name of the check of the local stack.
const checkStack = "stack"

// findStack checks that the local stack is up or can be started, and returns its state
// if it is up.
func findStack(ctx context.Context) (*localstack.State, doctor.Finding) {
	f := doctor.Finding{Check: checkStack, State: doctor.OK, Needed: "up, or can be started"}
	lacking := func(observed string, err error, remedy string) (*localstack.State, doctor.Finding) {
		f.State, f.Observed, f.Why, f.Remedy = doctor.Lacking, observed, err.Error(), remedy
		return nil, f
	}
	state, err := localstack.Status(ctx, localstack.DefaultDir)
	if err != nil {
		return lacking("not known", err, cmp.Or(hint.Of(err), "assay-lab stack status"))
	}
	if state != nil && state.Down == "" {
		f.Observed = "up, at " + state.Target
		return state, f
	}
	server, err := localstack.Server(ctx, localstack.DefaultDir)
	if err != nil {
		return lacking("down, and cannot be started", err, "apt-get install mariadb-server-core; or name another service with --target")
	}
	down := "target is down"
	if state != nil {
		down = state.Down
	}
	f.Observed = fmt.Sprintf("%s; certify starts it, with %s, or: assay-lab stack up", down, server)
	return nil, f
}
