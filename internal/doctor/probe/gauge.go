package probe

import (
	"context"
	"fmt"
	"time"

	"assay.dev/assay/internal/observe/collect/gauge"
	"assay.dev/assay/internal/observe/collect/neighbour"
	"assay.dev/assay/internal/observe/collect/service"
	"assay.dev/assay/internal/spec"
)

// neighbourTimeout is enough for three tries of the slowest health request.
const neighbourTimeout = 31 * time.Second

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

// ExamineNeighbour reads a neighbour once. It returns why it cannot be watched.
func ExamineNeighbour(ctx context.Context, n spec.Neighbour) error {
	ctx, cancel := context.WithTimeout(ctx, neighbourTimeout)
	defer cancel()
	return neighbour.Examine(ctx, n)
}

// ExamineService reads the service's metrics once, and lists those of the catalogue.
func ExamineService(ctx context.Context, c *service.Collector) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	defer c.Close()
	return c.Examine(ctx)
}
