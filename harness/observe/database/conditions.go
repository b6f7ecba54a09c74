package database

import (
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// Crowded tells that the server, or its user, has no connection left to give:
// ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED;
// too_many_connections.
func Crowded(err error) bool { return answered(err, []uint16{1040, 1203, 1226}, "53300") }

// Deadlock tells that a statement was ended so that others can go on:
// ER_LOCK_DEADLOCK, deadlock_detected.
func Deadlock(err error) bool { return answered(err, []uint16{1213}, "40P01") }

// answered tells whether the server said one of these.
func answered(err error, numbers []uint16, state string) bool {
	var said *mysql.MySQLError
	if errors.As(err, &said) {
		return slices.Contains(numbers, said.Number)
	}
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == state
}
