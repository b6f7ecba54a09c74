package foreign

import (
	"errors"
	"fmt"

	"assay/harness/crash"
)

// ErrUnreadable: a parser panicked at what it read. This is a mistake of the parser, which
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
		e := crash.New(left)
		*err = fmt.Errorf("%w (%s, at %s)", ErrUnreadable, e.What, e.Where)
	}
}
