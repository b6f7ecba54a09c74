// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"crypto/x509"
	"errors"
	"strings"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/mask"
)

// Error is a problem with a DSN, a connection or an API that has a known remedy.
// Problem is complete, in one line: Reason does not shorten it.
type Error struct{ Problem, Remedy string }

func (e *Error) Error() string { return e.Problem }

// Hint is the next step.
func (e *Error) Hint() string { return e.Remedy }

// maxLine is the longest line, in bytes: a server may send megabytes.
const maxLine = 500

// Line is a text of a server's in one line.
func Line(text string) string { return mask.Line(text, maxLine) }

// minReason is the length of the shortest reason: what is shorter is a value, as in
// "unexpected message: h".
const minReason = 4

// Reason is the root cause of an error, from the network or this host, without the
// prefixes of those who wrapped it. Package databases also handles server errors.
func Reason(err error) string {
	var known *Error
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &known):
		return known.Problem
	case errors.Is(err, foreign.ErrUnreadable):
		return "what it answers cannot be read"
	case errors.As(err, &unknown):
		return "certificate signed by unknown authority" // without the possible causes that may follow
	case errors.Is(err, context.DeadlineExceeded):
		return "timed out"
	}
	text := mask.Text(err.Error()) // which may have this separator too
	for i := strings.LastIndex(text, ": "); i >= 0; i = strings.LastIndex(text[:i], ": ") {
		if tail := text[i+2:]; len(tail) >= minReason {
			return tail
		}
	}
	return text
}
