package database

import (
	"context"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// pingTimeout bounds the first answer: what listens there may be something
// else, which waits for us to speak.
const pingTimeout = 4 * time.Second

// Open opens the database with times read in UTC, as the server's session then
// gives them. It does not connect, and holds one connection at most.
func Open(dsn string) (*DB, error) {
	if FamilyOf(dsn) == PostgreSQL {
		return openPostgreSQL(dsn)
	}
	c, err := Config(dsn)
	if err != nil {
		return nil, err
	}
	c.ParseTime, c.Loc, c.Timeout = true, time.UTC, pingTimeout
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	c.Params["time_zone"] = "'+00:00'"
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("read DSN: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return &DB{db, MySQL}, nil
}

// Ping connects, and returns when the database has answered or will not.
func Ping(ctx context.Context, db *DB) error {
	ctx, cancel := context.WithTimeoutCause(ctx, pingTimeout, fmt.Errorf("no answer within %s", pingTimeout))
	defer cancel()
	err := db.PingContext(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Reason is what the database, or the network before it, says.
func Reason(err error) string {
	var said *mysql.MySQLError
	var known *Error
	var unknown x509.UnknownAuthorityError
	var answer *pgconn.PgError
	switch {
	case errors.As(err, &said):
		return said.Message
	case errors.As(err, &answer):
		return answer.Message
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

// Public is a DSN as it may be recorded and told; "" for none.
func Public(dsn string) string {
	if FamilyOf(dsn) == PostgreSQL {
		return publicPostgreSQL(dsn)
	}
	c, err := Parse(dsn)
	if dsn == "" || err != nil {
		return ""
	}
	c.Passwd = ""
	return c.FormatDSN()
}
