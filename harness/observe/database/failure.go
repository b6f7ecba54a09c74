package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
)

// Failure is an error of a connection or statement, as metrics count it and scripts
// handle it.
type Failure struct {
	Class      string // in plain words: that of the server's condition, or of the connection's end
	Code       string // the server's own; empty: the error is not from the server
	State      string // SQLSTATE; empty: none
	Message    string
	RolledBack bool // the transaction was certainly rolled back, and may be sent again
}

// Classify describes an error of this family's driver. Its classes are few and bounded.
func (d *Dialect) Classify(err error) Failure {
	if e, ok := d.ServerError(err); ok {
		return Failure{e.Condition.String(), e.Code, e.State, e.Message, e.Condition.RolledBack()}
	}
	return Failure{Class: d.connectionClass(err), Message: Reason(err)}
}

// connectionClass is the class of an error of the network or of the driver.
func (d *Dialect) connectionClass(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many open files"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "unreachable"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		slices.ContainsFunc(d.Lost, func(lost error) bool { return errors.Is(err, lost) }):
		return "connection lost"
	}
	return OtherCondition.String()
}
