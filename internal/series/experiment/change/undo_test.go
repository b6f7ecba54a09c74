package change

import (
	"errors"
	"fmt"
	"testing"
)

// The reason why an experiment ended is never that it could not be undone.
func TestReason(t *testing.T) {
	undo, refused := &UndoError{Journal: "j"}, errors.New("refused")
	for name, c := range map[string]struct{ err, want error }{
		"nothing":          {nil, nil},
		"another":          {refused, refused},
		"undo":             {undo, nil},
		"undo, wrapped":    {fmt.Errorf("variant b: %w", undo), nil},
		"undo and another": {errors.Join(undo, refused), refused},
		"undo twice":       {errors.Join(undo, undo), nil},
	} {
		if got := Reason(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
