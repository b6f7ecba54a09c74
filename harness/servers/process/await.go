package process

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrEnded is returned by Await where the process has ended.
var ErrEnded = errors.New("it ended at once")

// readyEvery is how often Await asks.
const readyEvery = 50 * time.Millisecond

// Await calls ready until it returns nil. It fails with ErrEnded when ended is
// closed (nil: never), with the last error of ready after patience, and with the
// cause of ctx when that is done.
func Await(ctx context.Context, patience time.Duration, ended <-chan struct{}, ready func(context.Context) error) error {
	late := fmt.Errorf("no answer within %s", patience)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, late)
	defer cancel()
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		err := ready(ctx)
		select {
		case <-ended: // whatever has answered, it was another process
			return ErrEnded
		default:
		}
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return ErrEnded
		case <-tick.C:
		case <-ctx.Done():
			if context.Cause(ctx) == late {
				return fmt.Errorf("%w: %w", late, err)
			}
			return context.Cause(ctx)
		}
	}
}
