package collect

import (
	"context"
	"errors"
)

// firstTries bounds the tries of First.
const firstTries = 3

// First makes the first reading of a source: it calls read again if it times out, so that
// one slow response of a busy system does not cost the run the source. Other errors are
// returned at once.
func First(ctx context.Context, read func(context.Context) error) (err error) {
	for range firstTries {
		if err = read(ctx); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			break
		}
	}
	return err
}
