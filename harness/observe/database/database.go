package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// pingTimeout bounds the first answer: what listens there may be something
// else, which waits for us to speak.
const pingTimeout = 4 * time.Second

// Open opens the database with times read in UTC, as the server's session then
// gives them. It does not connect, and holds one connection at most.
func Open(dsn string) (*sql.DB, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("read DSN: %w", err)
	}
	c.ParseTime, c.Loc, c.Timeout = true, time.UTC, pingTimeout
	c.Logger = &mysql.NopLogger{} // errors are returned; stderr belongs to the command
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
	return db, nil
}

// Ping connects, and returns when the database has answered or will not.
func Ping(ctx context.Context, db *sql.DB) error {
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
	switch {
	case errors.As(err, &said):
		return said.Message
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
	c, err := mysql.ParseDSN(dsn)
	if dsn == "" || err != nil {
		return ""
	}
	c.Passwd = ""
	return c.FormatDSN()
}
