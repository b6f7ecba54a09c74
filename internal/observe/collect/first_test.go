package collect_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"assay.dev/assay/internal/observe/collect"
)

func TestFirst(t *testing.T) {
	slow, denied := fmt.Errorf("read: %w", context.DeadlineExceeded), errors.New("denied")
	for name, c := range map[string]struct {
		answers []error
		want    error
		tries   int
	}{
		"at once":      {[]error{nil}, nil, 1},
		"slow once":    {[]error{slow, nil}, nil, 2},
		"always slow":  {[]error{slow, slow, slow, nil}, slow, 3},
		"denied":       {[]error{denied, nil}, denied, 1},
		"slow, denied": {[]error{slow, denied, nil}, denied, 2},
	} {
		tries := 0
		err := collect.First(t.Context(), func(context.Context) error {
			tries++
			return c.answers[tries-1]
		})
		if !errors.Is(err, c.want) || tries != c.tries {
			t.Errorf("%s: %v after %d tries, want %v after %d", name, err, tries, c.want, c.tries)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	if err := collect.First(ctx, func(context.Context) error { tries++; cancel(); return slow }); err == nil || tries != 1 {
		t.Errorf("interrupted: %v after %d tries", err, tries)
	}
}
