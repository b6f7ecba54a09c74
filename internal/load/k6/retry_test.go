package k6

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"assay.dev/assay/internal/wire"
)

// TestRetry repeats failed deliveries with growing pauses until one succeeds, is refused,
// or the deadline has passed.
func TestRetry(t *testing.T) {
	t.Parallel()
	broken, refused := errors.New("connection reset"), &wire.RefusedError{}
	for name, c := range map[string]struct {
		send  func(ctx context.Context, try int) error
		want  error
		tries []string
	}{
		"succeeds": {
			func(_ context.Context, try int) error {
				if try < 7 {
					return broken
				}
				return nil
			},
			nil,
			[]string{"0s", "50ms", "150ms", "350ms", "750ms", "1.55s", "2.55s"},
		},
		"refused": {
			func(_ context.Context, try int) error {
				if try == 2 {
					return refused
				}
				return broken
			},
			refused,
			[]string{"0s", "50ms"},
		},
		"deadline": {
			func(context.Context, int) error { return broken },
			broken,
			[]string{"0s", "50ms", "150ms", "350ms", "750ms", "1.55s", "2.55s", "3.55s", "4.55s", "5.55s", "6.55s", "7.55s"},
		},
		"a try that hangs": {
			func(ctx context.Context, _ int) error { <-ctx.Done(); return broken },
			broken,
			[]string{"0s", "5.05s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var tries []string
				err := retry(start.Add(8*time.Second), func(ctx context.Context) error {
					tries = append(tries, fmt.Sprint(time.Since(start)))
					return c.send(ctx, len(tries))
				})
				if !errors.Is(err, c.want) || !slices.Equal(tries, c.tries) {
					t.Errorf("%v after tries at %v; want %v after %v", err, tries, c.want, c.tries)
				}
				if got := time.Since(start); got > 8*time.Second {
					t.Errorf("returned after %s", got)
				}
			})
		})
	}
}
