package database_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/collect/postgres"
	"assay.dev/assay/internal/observe/database"
)

// Errors of servers, of the network and of drivers have classes in plain words, and only
// those after which the server has certainly rolled back may be sent again.
func TestClassify(t *testing.T) {
	my, pg := mysql.Driver{}.Dialect(), postgres.Driver{}.Dialect()
	server := func(number uint16, message string) error {
		return fmt.Errorf("wrapped: %w", &mysqldriver.MySQLError{Number: number, SQLState: [5]byte{'4', '0', '0', '0', '1'}, Message: message})
	}
	dial := func(err error) error { return &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", err)} }
	for _, c := range []struct {
		dialect    *database.Dialect
		err        error
		class      string
		code       string
		rolledBack bool
	}{
		{my, server(1213, "Deadlock found"), "deadlock", "1213", true},
		{my, server(3101, "Plugin instructed the server to rollback the current transaction."), "certification failure", "3101", true},
		{my, server(1205, ""), "lock wait timeout", "1205", false},
		{my, server(1062, ""), "duplicate key", "1062", false},
		{my, server(1040, ""), "too many connections", "1040", false},
		{my, server(1203, ""), "too many connections", "1203", false},
		{my, server(1045, ""), "access denied", "1045", false},
		{my, server(1047, "WSREP has not yet prepared node for application use"), "not primary", "1047", false},
		{my, server(1290, "running with the --read-only option"), "read only", "1290", false},
		{my, server(1290, "running with the --super-read-only option"), "read only", "1290", false},
		{my, server(1290, "running with the --secure-file-priv option"), "SQL error 1290", "1290", false},
		{my, server(1836, ""), "read only", "1836", false},
		{my, server(3024, ""), "timeout", "3024", false},
		{my, server(1053, ""), "server shutdown", "1053", false},
		{my, server(1927, ""), "session killed", "1927", false},
		{my, server(1064, ""), "SQL error 1064", "1064", false},
		{my, server(1461, ""), "too many prepared statements", "1461", false},
		{my, server(1317, ""), "canceled", "1317", false},
		{pg, &pgconn.PgError{Code: "40P01"}, "deadlock", "40P01", true},
		{pg, &pgconn.PgError{Code: "40001"}, "serialization failure", "40001", true},
		{pg, &pgconn.PgError{Code: "23505"}, "duplicate key", "23505", false},
		{pg, &pgconn.PgError{Code: "53300"}, "too many connections", "53300", false},
		{pg, &pgconn.PgError{Code: "57P01"}, "server shutdown", "57P01", false},
		{my, dial(syscall.ECONNREFUSED), "connection refused", "", false},
		{my, dial(syscall.ECONNRESET), "connection reset", "", false},
		{my, dial(syscall.EMFILE), "too many open files", "", false},
		{my, dial(syscall.EADDRNOTAVAIL), "no free local port", "", false},
		{my, dial(&net.DNSError{Err: "no such host", Name: "a", IsNotFound: true}), "DNS", "", false},
		{my, dial(syscall.EHOSTUNREACH), "unreachable", "", false},
		{my, dial(os.ErrDeadlineExceeded), "timeout", "", false},
		{my, context.DeadlineExceeded, "timeout", "", false},
		{my, context.Canceled, "canceled", "", false},
		{my, mysqldriver.ErrInvalidConn, "connection closed", "", false},
		{my, driver.ErrBadConn, "connection closed", "", false},
		{my, net.ErrClosed, "connection closed", "", false},
		{my, sql.ErrConnDone, "connection closed", "", false},
		{pg, io.ErrUnexpectedEOF, "connection closed", "", false},
		{my, errors.New("something new"), "other", "", false},
	} {
		f := c.dialect.Classify(c.err)
		if f.Class != c.class || f.Code != c.code || f.RolledBack != c.rolledBack || c.code != "" && f.State == "" {
			t.Errorf("%v: %+v, want %s, %q, %v", c.err, f, c.class, c.code, c.rolledBack)
		}
	}
}

// A statement that the server ended at its limit is one that missed its deadline, and still
// the server's error.
func TestDeadline(t *testing.T) {
	my, pg := mysql.Driver{}.Dialect(), postgres.Driver{}.Dialect()
	for _, c := range []struct {
		dialect *database.Dialect
		err     error
		missed  bool
	}{
		{my, &mysqldriver.MySQLError{Number: 3024}, true},
		{my, &mysqldriver.MySQLError{Number: 1969}, true},
		{my, &mysqldriver.MySQLError{Number: 1205}, false},
		{pg, &pgconn.PgError{Code: "57014"}, true},
		{pg, &pgconn.PgError{Code: "42501"}, false},
		{pg, nil, false},
		{pg, context.DeadlineExceeded, true},
	} {
		got := c.dialect.Deadline(c.err)
		if errors.Is(got, context.DeadlineExceeded) != c.missed || !errors.Is(got, c.err) {
			t.Errorf("%v: %v, deadline missed: want %t", c.err, got, c.missed)
		}
	}
}
