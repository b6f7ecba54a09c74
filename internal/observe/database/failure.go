// SPDX-License-Identifier: Apache-2.0

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

	"assay.dev/assay/internal/observe/metric"
)

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
		class, known := classes[e.Condition]
		if !known {
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
