package database

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"assay/harness/hint"
)

// ConnectTimeout bounds connecting and the first answer: what listens at the
// address may be something else, which waits for its client to speak.
const ConnectTimeout = 4 * time.Second

// DB is an open database.
type DB struct {
	*sql.DB
	Dialect *Dialect
}

// NewDB opens nothing yet. The DB holds one connection at most.
func NewDB(db *sql.DB, d *Dialect) *DB {
	db.SetMaxOpenConns(1)
	return &DB{db, d}
}

// Ping connects, and returns when the database has answered or will not. Its error
// has a hint where the cause is known.
func Ping(ctx context.Context, db *DB) error {
	ctx, cancel := context.WithTimeoutCause(ctx, ConnectTimeout, fmt.Errorf("no answer within %s", ConnectTimeout))
	defer cancel()
	err := db.PingContext(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return db.Dialect.withHint(err)
}

// withHint attaches the next step to an error of connecting, unless it has one.
func (d *Dialect) withHint(err error) error {
	if err == nil || d.Hint == nil || hint.Of(err) != "" {
		return err
	}
	return hint.With(err, d.Hint(err))
}

// Bind rewrites a statement whose arguments are question marks into the
// placeholders of the dialect.
func (d *Dialect) Bind(statement string) string {
	if !d.NumberedArguments {
		return statement
	}
	parts := strings.Split(statement, "?")
	var b strings.Builder
	for i, part := range parts {
		b.WriteString(part)
		if i < len(parts)-1 {
			b.WriteString("$" + strconv.Itoa(i+1))
		}
	}
	return b.String()
}
