package probe

import (
	"context"
	"fmt"

	"assay/harness/observe/collect/lag"
)

// LookAtLag reads each lag once: its error is what a run would meet.
func LookAtLag(ctx context.Context, o lag.Options) error {
	tooLong := fmt.Errorf("no answer within %s: %w", databaseTimeout, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, databaseTimeout, tooLong)
	defer cancel()
	if err := lag.Examine(ctx, o); ctx.Err() == nil || err == nil {
		return err
	}
	return context.Cause(ctx)
}
