// Package hint attaches to an error the next step that its reader may take.
//
// In: an error of one line, which says what is wrong and where. Out: the same
// error, to errors.Is and errors.As too, from which the command that prints it
// takes the step apart: "assay: the error", and below it "hint: the step".
package hint

import "errors"

// hinted is an error with its next step.
type hinted struct {
	error
	text string
}

func (h *hinted) Unwrap() error { return h.error }

// Hint is the next step. Errors of other packages that know theirs have this
// method too.
func (h *hinted) Hint() string { return h.text }

// With attaches the next step to err, one line without a full stop. A nil error
// stays nil, and no text attaches nothing.
func With(err error, text string) error {
	if err == nil || text == "" {
		return err
	}
	return &hinted{err, text}
}

// Or attaches the next step to an err that has none.
func Or(err error, text string) error {
	if Of(err) != "" {
		return err
	}
	return With(err, text)
}

// Of is the next step of err, or of the first error in its tree that has one, the
// outermost first (see errors.As); empty where none has.
func Of(err error) string {
	var with interface{ Hint() string }
	if errors.As(err, &with) {
		return with.Hint()
	}
	return ""
}
