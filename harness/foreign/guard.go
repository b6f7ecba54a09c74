package foreign

import (
	"errors"
	"fmt"

	"assay/harness/crash"
	"assay/harness/mask"
)

// ErrUnreadable: a parser panicked at what it read. This is a mistake of the parser, which
// should have returned an error of its own.
var ErrUnreadable = errors.New("it cannot be read: the parser failed")

// maxWhat bounds the value of a panic that is shown, bytes: it can quote what was read.
const maxWhat = 200

// Guard turns a panic of the function that defers it into *err: foreign input must not
// end this process. Running out of memory or of stack cannot be caught: what is read must
// be bounded too.
//
//	func parse(text []byte) (m Metrics, err error) {
//		defer foreign.Guard(&err)
func Guard(err *error) {
	if left := recover(); left != nil {
		*err = fmt.Errorf("%w (%s, at %s)", ErrUnreadable, mask.Line(fmt.Sprint(left), maxWhat), crash.Place())
	}
}
