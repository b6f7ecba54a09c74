package database

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// PostgreSQLConfig reads a DSN as the driver does, which means libpq's: sslmode
// and the certificates' files are parameters, and PGSSLMODE and its like are what
// they are where the DSN does not say.
func PostgreSQLConfig(dsn string) (*pgx.ConnConfig, error) {
	// What a parser says of a text that it cannot read may hold a part of the
	// password.
	if _, err := url.Parse(dsn); err != nil {
		return nil, errors.New("read DSN: not a URL; special characters of a password are written as %XX")
	}
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		why := errors.Unwrap(err)
		if why == nil {
			why = errors.New("a parameter has no such value")
		}
		return nil, fmt.Errorf("read DSN: %w", why)
	}
	return c, nil
}

func openPostgreSQL(dsn string) (*DB, error) {
	c, err := PostgreSQLConfig(dsn)
	if err != nil {
		return nil, err
	}
	c.ConnectTimeout = pingTimeout
	c.RuntimeParams["application_name"] = "assay"
	c.RuntimeParams["timezone"] = "UTC"
	// The types of arguments are the server's to tell, and nothing is left
	// prepared in a session that a pooler gives to others.
	c.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	db := stdlib.OpenDB(*c)
	db.SetMaxOpenConns(1)
	return &DB{db, PostgreSQL}, nil
}

// secrets are parameters that are not told.
var secrets = []string{"password", "sslpassword", "passfile"}

func publicPostgreSQL(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return ""
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	for _, name := range secrets {
		q.Del(name)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// addressPostgreSQL is where the first of a DSN's servers listens.
func addressPostgreSQL(dsn string) (address string, ok bool) {
	c, err := PostgreSQLConfig(dsn)
	if err != nil {
		return "", false
	}
	if strings.HasPrefix(c.Host, "/") {
		return "", true
	}
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))), true
}

// loginPostgreSQL is the user and the password of a DSN.
func loginPostgreSQL(dsn string) (user, password string, err error) {
	u, err := url.Parse(dsn)
	if err == nil {
		_, err = PostgreSQLConfig(dsn)
	}
	if err != nil {
		return "", "", err
	}
	user, password = u.User.Username(), u.Query().Get("password")
	if named := u.Query().Get("user"); named != "" {
		user = named
	}
	if given, set := u.User.Password(); set {
		password = given
	}
	return user, password, nil
}

// withPasswordPostgreSQL is the DSN with this password.
func withPasswordPostgreSQL(dsn, password string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn
	}
	if u.User != nil && u.User.Username() != "" {
		u.User = url.UserPassword(u.User.Username(), password)
		return u.String()
	}
	q := u.Query()
	q.Set("password", password)
	u.RawQuery = q.Encode()
	return u.String()
}
