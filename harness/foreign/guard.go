package foreign

import (
	"errors"
	"fmt"

	"assay/harness/crash"
)

// ErrUnreadable: a parser gave up on what it read. That is a mistake of the parser, as it
// should have returned an error of its own.
var ErrUnreadable = errors.New("it cannot be read: the parser failed")

// Guard turns a panic of the function that defers it into *err: foreign input must not
// end this process. Running out of memory or of stack cannot be caught: what is read must
// be bounded too.
//
//	func parse(text []byte) (m Metrics, err error) {
//		defer foreign.Guard(&err)
func Guard(err *error) {
	if left := recover(); left != nil {
		*err = fmt.Errorf("%w (%.200v, at %s)", ErrUnreadable, left, crash.Place())
	}
}
