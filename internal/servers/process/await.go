package process

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrEnded is returned by Await if the process has ended.
var ErrEnded = errors.New("the process exited")

// readyEvery is the interval at which Await calls ready.
const readyEvery = 50 * time.Millisecond

// Await calls ready until it returns nil. It fails with ErrEnded when ended is
// closed (nil: never), with the last error of ready after timeout, and with the
// cause of ctx when that is done.
func Await(ctx context.Context, timeout time.Duration, ended <-chan struct{}, ready func(context.Context) error) error {
	errTimeout := fmt.Errorf("no answer within %s", timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		err := ready(ctx)
		select {
		case <-ended: // another process must have answered
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
			if context.Cause(ctx) == errTimeout {
				return fmt.Errorf("%w: %w", errTimeout, err)
			}
			return context.Cause(ctx)
		}
	}
}
