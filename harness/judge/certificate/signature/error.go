package signature

import "fmt"

// Error is what is wrong with a key or a bundle, in one line that quotes
// nothing of a key. The hint is for the command to print below it.
type Error struct {
	Problem string
	Hint    string // may be empty
}

func (e *Error) Error() string { return e.Problem }

func problem(format string, args ...any) *Error { return &Error{Problem: fmt.Sprintf(format, args...)} }
