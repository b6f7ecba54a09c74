package probe

import (
	"context"
	"fmt"

	"assay/harness/observe/collect/gauge"
)

// ExamineGauge opens the gauges of a metric and reads each once. It returns the error
// that a run would get.
func ExamineGauge(ctx context.Context, o gauge.Options, metric string) error {
	tooLong := fmt.Errorf("no answer within %s: %w", databaseTimeout, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, databaseTimeout, tooLong)
	defer cancel()
	if err := o.Examine(ctx, metric); ctx.Err() == nil || err == nil {
		return err
	}
	return context.Cause(ctx)
}
