package database

import (
	"context"
	"crypto/x509"
	"errors"
	"strings"
)

// Error is a DSN, a connection or an API that is of no use for a reason that has a
// remedy. Problem says all there is to say, in one line: Reason does not shorten it.
type Error struct{ Problem, Remedy string }

func (e *Error) Error() string { return e.Problem }

// Hint is the next step.
func (e *Error) Hint() string { return e.Remedy }

// Reason is what is at the bottom of an error: what the network, or this host,
// said. Package databases also knows what servers say.
func Reason(err error) string {
	var known *Error
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &known):
		return known.Problem
	case errors.As(err, &unknown):
		return "certificate signed by unknown authority" // without the guesses that may follow
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+2:]
	}
	return text
}
