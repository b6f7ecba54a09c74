// SPDX-License-Identifier: Apache-2.0

// Package hint attaches the next step to an error.
//
// Input: an error of one line, which says what is wrong and where. Output: an error with
// the same text that wraps it, and whose next step Of returns. The command prints
// both: "assay: the error", and below it "hint: the next step".
package hint

import "errors"

// hinted is an error with its next step.
type hinted struct {
	error
	text string
}

func (h *hinted) Unwrap() error { return h.error }

// Hint is the next step. Error types of other packages may have this method too.
func (h *hinted) Hint() string { return h.text }

// With attaches the next step to err, one line without a full stop. A nil error
// stays nil, and no text attaches nothing.
func With(err error, text string) error {
	if err == nil || text == "" {
		return err
	}
	return &hinted{err, text}
}

// Or attaches the next step to err unless it has one.
func Or(err error, text string) error {
	if Of(err) != "" {
		return err
	}
	return With(err, text)
}

// Of returns the next step of the first error in err's tree that has one, the
// outermost first (see errors.As); empty if none has.
func Of(err error) string {
	var with interface{ Hint() string }
	if errors.As(err, &with) {
		return with.Hint()
	}
	return ""
}
