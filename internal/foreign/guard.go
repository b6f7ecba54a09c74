// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"errors"
	"log/slog"

	"assay.dev/assay/internal/crash"
)

// ErrUnreadable: a parser panicked at what it read. This is a mistake of the parser, which
// should have returned an error of its own.
var ErrUnreadable = errors.New("it cannot be read: the parser failed")

// Guard turns a panic of the function that defers it into ErrUnreadable: foreign input must
// not end this process. What the panic says is for the log of those who mend the parser.
// Running out of memory or of stack cannot be caught: what is read must be bounded too.
//
//	func parse(text []byte) (m Metrics, err error) {
//		defer foreign.Guard(&err)
func Guard(err *error) {
	if left := recover(); left != nil {
		e := crash.New(left)
		slog.Debug("a parser failed", "why", e.What, "at", e.Where)
		*err = ErrUnreadable
	}
}
