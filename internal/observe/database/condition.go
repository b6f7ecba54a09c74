// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"

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

// Condition is a kind of server error that callers handle, or reports count by name.
type Condition int

// The conditions.
const (
	OtherCondition       Condition = iota
	TooManyConnections             // the connection limit of the server or of its user is reached
	TooManyPrepared                // the server keeps no more prepared statements
	Deadlock                       // the server chose the transaction as the deadlock victim; Galera reports a failed certification so, too
	Denied                         // the user lacks a right
	LockTimeout                    // a row was locked for longer than the server waits
	Duplicate                      // a unique key exists already
	CertificationFailure           // at commit, the group found a conflict with a transaction of another node
	Serialization                  // a conflict under snapshot or serializable isolation
	NotPrimary                     // the node is not part of the cluster's primary component
	ReadOnly                       // the server or the transaction takes no writes
	Timeout                        // the statement ran for longer than its limit
	Canceled                       // another session cancelled the statement
	Shutdown                       // the server is stopping or not yet started
	Killed                         // the server ended the session
	Unexplained                    // a syntax error, as Explainer takes few statements, or the user may not have this one explained
)

// classes of the conditions, in metrics and reports.
var classes = map[Condition]string{
	TooManyConnections:   metric.ErrorTooMany,
	TooManyPrepared:      metric.ErrorTooManyPrepared,
	Deadlock:             metric.ErrorDeadlock,
	Denied:               metric.ErrorDenied,
	LockTimeout:          metric.ErrorLockWait,
	Duplicate:            metric.ErrorDuplicateKey,
	CertificationFailure: metric.ErrorCertification,
	Serialization:        metric.ErrorSerialization,
	NotPrimary:           metric.ErrorNotPrimary,
	ReadOnly:             metric.ErrorReadOnly,
	Timeout:              metric.ErrorTimeout,
	Canceled:             metric.ErrorCanceled,
	Shutdown:             metric.ErrorServerGone,
	Killed:               metric.ErrorKilled,
}

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
