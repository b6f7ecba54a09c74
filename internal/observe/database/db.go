// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"assay.dev/assay/internal/hint"
)

// ConnectTimeout bounds connecting and the first response: a server of another
// protocol may accept the connection and wait for the client to speak.
const ConnectTimeout = 4 * time.Second

// DB is an open database.
type DB struct {
	*sql.DB
	Dialect *Dialect
	*Intake // of its connection
}

// NewDB connects lazily, and limits the pool to one connection.
func NewDB(db *sql.DB, d *Dialect, i *Intake) *DB {
	db.SetMaxOpenConns(1)
	return &DB{db, d, i}
}

// Ping connects and waits for the server to respond, at most ConnectTimeout. Its
// error has a hint where the cause is known.
func Ping(ctx context.Context, db *DB) error {
	ctx, cancel := context.WithTimeoutCause(ctx, ConnectTimeout, fmt.Errorf("no answer within %s", ConnectTimeout))
	defer cancel()
	err := db.PingContext(ctx)
	var known *Error
	if err != nil && ctx.Err() != nil && !errors.As(err, &known) {
		return hint.With(context.Cause(ctx), hint.Of(err))
	}
	return db.Dialect.WithHint(err)
}

// WithHint attaches the next step to a connection error, unless it has one.
func (d *Dialect) WithHint(err error) error {
	if err == nil || d.Hint == nil {
		return err
	}
	return hint.Or(err, d.Hint(err))
}

// Bind replaces the question marks of a statement by the placeholders of the
// dialect.
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
