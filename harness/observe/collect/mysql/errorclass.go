package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strconv"
	"syscall"

	code "github.com/go-mysql-org/go-mysql/mysql"
	mysql "github.com/go-sql-driver/mysql"

	"assay/harness/observe/metric"
)

// errorClasses are the classes of the server's errors by their number.
var errorClasses = map[uint16]string{
	code.ER_CON_COUNT_ERROR:                 metric.ErrorTooMany,
	code.ER_TOO_MANY_USER_CONNECTIONS:       metric.ErrorTooMany,
	code.ER_USER_LIMIT_REACHED:              metric.ErrorTooMany,
	code.ER_LOCK_DEADLOCK:                   metric.ErrorDeadlock,
	code.ER_LOCK_WAIT_TIMEOUT:               metric.ErrorLockWait,
	code.ER_DUP_ENTRY:                       metric.ErrorDuplicateKey,
	code.ER_OPTION_PREVENTS_STATEMENT:       metric.ErrorReadOnly,
	code.ER_READ_ONLY_MODE:                  metric.ErrorReadOnly,
	code.ER_ACCESS_DENIED_ERROR:             metric.ErrorDenied,
	code.ER_DBACCESS_DENIED_ERROR:           metric.ErrorDenied,
	code.ER_TABLEACCESS_DENIED_ERROR:        metric.ErrorDenied,
	code.ER_SERVER_SHUTDOWN:                 metric.ErrorServerGone,
	code.ER_MAX_PREPARED_STMT_COUNT_REACHED: metric.ErrorTooManyPrepared,
	code.ER_QUERY_INTERRUPTED:               metric.ErrorCanceled,
}

// ErrorClass is the class, in the words of metric.Error*, of an error that a statement or
// a connection of go-sql-driver/mysql ended with; of another error of the server its
// number, like "MySQL 1146"; "" for nil.
func ErrorClass(err error) string {
	var server *mysql.MySQLError
	var dns *net.DNSError
	var timed net.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &server):
		if class, ok := errorClasses[server.Number]; ok {
			return class
		}
		return "MySQL " + strconv.Itoa(int(server.Number))
	case errors.As(err, &dns):
		return metric.ErrorDNS
	}
	for errno, class := range map[syscall.Errno]string{
		syscall.EMFILE: metric.ErrorOpenFiles, syscall.ENFILE: metric.ErrorOpenFiles,
		syscall.EADDRNOTAVAIL: metric.ErrorNoPort, syscall.ECONNREFUSED: metric.ErrorRefused,
		syscall.ECONNRESET: metric.ErrorReset, syscall.EPIPE: metric.ErrorReset,
		syscall.EHOSTUNREACH: metric.ErrorUnreachable, syscall.ENETUNREACH: metric.ErrorUnreachable,
	} {
		if errors.Is(err, errno) {
			return class
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timed) && timed.Timeout():
		return metric.ErrorTimeout
	case errors.Is(err, context.Canceled):
		return metric.ErrorCanceled
	case errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, driver.ErrBadConn), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return metric.ErrorClosed
	}
	return metric.ErrorOther
}
