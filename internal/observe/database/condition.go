// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/metric"
)

// ServerError is an error that the server returned. Error gives the message alone,
// without the number that drivers put before it.
type ServerError struct {
	Message   string
	Code      string // the server's own, such as 1213 or 40P01
	State     string // SQLSTATE, such as 40001; empty: the server gave none
	Condition Condition
}

func (e ServerError) Error() string { return e.Message }

// Condition is a kind of server error that callers handle, or reports count by name: its class
// in metrics. Empty: another one.
type Condition string

// The conditions.
const (
	TooManyConnections   Condition = metric.ErrorTooMany         // the connection limit of the server or of its user is reached
	TooManyPrepared      Condition = metric.ErrorTooManyPrepared // the server keeps no more prepared statements
	Deadlock             Condition = metric.ErrorDeadlock        // the server chose the transaction as the deadlock victim; Galera reports a failed certification so, too
	Denied               Condition = metric.ErrorDenied          // the user lacks a right
	LockTimeout          Condition = metric.ErrorLockWait        // a row was locked for longer than the server waits
	Duplicate            Condition = metric.ErrorDuplicateKey    // a unique key exists already
	CertificationFailure Condition = metric.ErrorCertification   // at commit, the group found a conflict with a transaction of another node
	Serialization        Condition = metric.ErrorSerialization   // a conflict under snapshot or serializable isolation
	NotPrimary           Condition = metric.ErrorNotPrimary      // the node is not part of the cluster's primary component
	ReadOnly             Condition = metric.ErrorReadOnly        // the server or the transaction takes no writes
	Timeout              Condition = metric.ErrorTimeout         // the statement ran for longer than its limit
	Canceled             Condition = metric.ErrorCanceled        // another session cancelled the statement
	Shutdown             Condition = metric.ErrorServerGone      // the server is stopping or not yet started
	Killed               Condition = metric.ErrorKilled          // the server ended the session
	// Unexplained is a syntax error, as Explainer takes few statements, or the user may not have
	// this one explained. It has no class.
	Unexplained Condition = "unexplained"
)

// RolledBack reports whether the server has certainly rolled the whole transaction back,
// so that it may be sent again.
func (c Condition) RolledBack() bool {
	return c == Deadlock || c == CertificationFailure || c == Serialization
}

// Is reports whether an error is a server error of this condition.
func (d *Dialect) Is(err error, c Condition) bool {
	e, ok := d.ServerError(err)
	return ok && e.Condition == c
}

// Deadline returns the error, which is a context.DeadlineExceeded as well if the server
// ended the statement at its limit: whoever waits for the answer need not know which of
// the two sides gave up.
func (d *Dialect) Deadline(err error) error {
	if d.Is(err, Timeout) {
		return limitError{err}
	}
	return err
}

// limitError is an error of a statement that the server ended at its limit.
type limitError struct{ error }

func (e limitError) Unwrap() error        { return e.error }
func (e limitError) Is(target error) bool { return target == context.DeadlineExceeded }

// Failure is an error of a connection or statement, as metrics count it and scripts
// handle it.
type Failure struct {
	Class      string // in plain words, one of metric.Error*: that of the server's condition, or of the connection's end
	Code       string // the server's own; empty: the error is not from the server
	State      string // SQLSTATE; empty: none
	Message    string
	RolledBack bool // the transaction was certainly rolled back, and may be sent again
}

// Classify describes an error of this family's driver. Its classes are those of
// metric.Error*: few and bounded.
func (d *Dialect) Classify(err error) Failure {
	if e, ok := d.ServerError(err); ok {
		class := string(e.Condition)
		if class == "" || e.Condition == Unexplained {
			class = "SQL error " + e.Code
		}
		return Failure{class, e.Code, e.State, e.Message, e.Condition.RolledBack()}
	}
	return Failure{Class: d.connectionClass(err), Message: Reason(err)}
}

// systemErrors are the classes of the operating system's errors.
var systemErrors = map[syscall.Errno]string{
	syscall.ECONNREFUSED: metric.ErrorRefused,
	syscall.ECONNRESET:   metric.ErrorReset, syscall.EPIPE: metric.ErrorReset, // EPIPE: it had been reset before
	syscall.EMFILE: metric.ErrorOpenFiles, syscall.ENFILE: metric.ErrorOpenFiles,
	syscall.EADDRNOTAVAIL: metric.ErrorNoPort,
	syscall.EHOSTUNREACH:  metric.ErrorUnreachable, syscall.ENETUNREACH: metric.ErrorUnreachable,
	syscall.ETIMEDOUT: metric.ErrorTimeout,
}

// connectionClass is the class of an error of the network or of the driver.
func (d *Dialect) connectionClass(err error) string {
	var dns *net.DNSError
	var system syscall.Errno
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		return metric.ErrorDNS
	case errors.As(err, &system) && systemErrors[system] != "":
		return systemErrors[system]
	case errors.Is(err, context.Canceled):
		return metric.ErrorCanceled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return metric.ErrorTimeout
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		slices.ContainsFunc(d.Lost, func(lost error) bool { return errors.Is(err, lost) }):
		return metric.ErrorClosed
	}
	return metric.ErrorOther
}

// Error is a problem with a DSN, a connection or an API that has a known remedy.
// Problem is complete, in one line: Reason does not shorten it.
type Error struct{ Problem, Remedy string }

func (e *Error) Error() string { return e.Problem }

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
