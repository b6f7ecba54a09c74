package probe

import (
	"context"
	"errors"
	"fmt"

	"assay.dev/assay/internal/observe/collect/pi"
	"assay.dev/assay/internal/observe/database"
)

// ExamineInsights reads the last minute's load from Performance Insights. It returns the
// error that a run would get.
func ExamineInsights(ctx context.Context, of database.Insights) error {
	tooLong := fmt.Errorf("no answer within %s: %w", databaseTimeout, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, databaseTimeout, tooLong)
	defer cancel()
	err := pi.Examine(ctx, of)
	var known *database.Error
	if err != nil && !errors.As(err, &known) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
