package change

import (
	"errors"
	"strings"
)

// NotRestoredError is the error of an experiment that could not restore the system.
// Err is the main error, as it matters more than why the experiment ended. Its text
// is one line.
type NotRestoredError struct {
	Err   error // what was not restored
	Ended error // why the experiment ended early; nil: it did not
}

func (e *NotRestoredError) Error() string {
	text := oneLine(e.Err)
	if e.Ended != nil {
		text = oneLine(e.Ended) + "; " + text
	}
	return text
}

func (e *NotRestoredError) Unwrap() error { return e.Err }

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Lasting: the error is told even where the command was interrupted.
func (*UndoError) Lasting() bool { return true }

// IsUndoError reports whether err is or wraps an UndoError.
func IsUndoError(err error) bool {
	var undo *UndoError
	return errors.As(err, &undo)
}

// Reason is the first of the joined errors that is not an UndoError; nil if there is
// none.
func Reason(err error) error {
	if !IsUndoError(err) {
		return err
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if !IsUndoError(e) {
				return e
			}
		}
	}
	return nil
}
