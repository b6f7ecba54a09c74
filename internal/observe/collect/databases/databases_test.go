package databases_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/collect/postgres"
)

// Each family has its own collector, and an invalid DSN is rejected without printing its
// password.
func TestCollectors(t *testing.T) {
	if d, ok := databases.Of("u:p@tcp(127.0.0.1:1)/shop").(mysql.Driver); !ok {
		t.Errorf("the driver of MySQL is %T", d)
	}
	for _, scheme := range []string{"postgres", "postgresql"} {
		if d, ok := databases.Of(scheme + "://u:p@127.0.0.1:1/shop").(postgres.Driver); !ok {
			t.Errorf("the driver of PostgreSQL is %T", d)
		}
	}
	for _, dsn := range []string{"u:secret@tcp(127.0.0.1:1)/shop", "postgres://u:secret@127.0.0.1:1/shop", "secret", "postgres://u:sec/ret@x:secret"} {
		c := databases.New(dsn)
		_, described := c.Describe(t.Context())
		_, examined := databases.Of(dsn).Examine(t.Context(), dsn)
		for _, err := range []error{c.Start(t.Context()), described, examined} {
			if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", dsn, err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What a server says is one line, without what a terminal would obey.
func TestReasonIsOneLine(t *testing.T) {
	for _, err := range []error{
		&pgconn.PgError{Code: "28000", Message: "no\nway\x1b[2J"}, &driver.MySQLError{Number: 1045, Message: "no\r\nway\x1b[2J"}, errors.New("no\nway\x1b[2J"),
	} {
		if got := databases.Reason(fmt.Errorf("connect: %w", err)); got != "no way [2J" {
			t.Errorf("%q", got)
		}
	}
	for _, text := range []string{strings.Repeat("ä", 1<<20), strings.Repeat("a\xff\u202e\u0085", 1<<20)} {
		for _, err := range []error{&driver.MySQLError{Number: 1064, Message: text}, &pgconn.PgError{Message: text}, errors.New(text)} {
			if got := databases.Reason(err); len(got) > 500 || !utf8.ValidString(got) || strings.ContainsAny(got, "\u202e\u0085") || !strings.HasSuffix(got, "...") {
				t.Errorf("%d bytes, %.40q", len(got), got)
			}
		}
	}
}
