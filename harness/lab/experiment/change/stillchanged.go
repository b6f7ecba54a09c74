package change

import (
	"errors"
	"strings"
)

// NotRestoredError is what an experiment changed and could not set back, which
// matters more than why the experiment ended. Its text is one line.
type NotRestoredError struct {
	Err   error // what could not be set back
	Ended error // why the experiment ended before; nil: it did not
}

func (e *NotRestoredError) Error() string {
	text := oneLine(e.Err)
	if e.Ended != nil {
		text = oneLine(e.Ended) + "; and " + text
	}
	return text
}

func (e *NotRestoredError) Unwrap() error { return e.Err }

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// StillChanged reports whether err tells of something that could not be set back.
func StillChanged(err error) bool {
	var left *Left
	return errors.As(err, &left)
}

// Reason is err without what could not be set back: nil where there is no other
// reason.
func Reason(err error) error {
	if !StillChanged(err) {
		return err
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if !StillChanged(e) {
				return e
			}
		}
	}
	return nil
}
