package hint_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"assay.dev/assay/internal/hint"
)

func TestOf(t *testing.T) {
	inner := hint.With(fs.ErrNotExist, "name another file")
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"no error", nil, ""},
		{"no hint", fs.ErrNotExist, ""},
		{"a hint", inner, "name another file"},
		{"wrapped", fmt.Errorf("read thresholds: %w", inner), "name another file"},
		{"the outermost", hint.With(fmt.Errorf("read: %w", inner), "see --help"), "see --help"},
		{"an empty text hides none", hint.With(inner, ""), "name another file"},
		{"kept", hint.Or(inner, "see --help"), "name another file"},
		{"added", hint.Or(fs.ErrNotExist, "see --help"), "see --help"},
		{"joined", errors.Join(fs.ErrExist, inner), "name another file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := hint.Of(c.err); got != c.want {
				t.Errorf("Of = %q, want %q", got, c.want)
			}
		})
	}
}

func TestWithKeepsTheError(t *testing.T) {
	if err := hint.With(nil, "try again"); err != nil {
		t.Errorf("With(nil) = %v", err)
	}
	err := hint.With(fs.ErrNotExist, "name another file")
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != fs.ErrNotExist.Error() {
		t.Errorf("With changed the error: %v", err)
	}
}
