package postgres

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay/harness/observe/database"
)

// parse reads a DSN as the driver does, which means libpq's: sslmode and the
// certificates' files are parameters, and PGSSLMODE and its like are what they are
// where the DSN does not say.
func parse(dsn string) (*url.URL, *pgx.ConnConfig, error) {
	// What a parser says of a text that it cannot read may hold a part of the
	// password.
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, nil, errors.New("read DSN: not a URL; special characters of a password are written as %XX")
	}
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		why := errors.Unwrap(err)
		if why == nil {
			why = errors.New("a parameter has no such value")
		}
		return nil, nil, fmt.Errorf("read DSN: %w", why)
	}
	return u, c, nil
}

// secrets are parameters that are neither printed nor recorded.
var secrets = []string{"password", "sslpassword", "passfile"}

// Parse reads a DSN, with the files that it names.
func (Driver) Parse(dsn string) (database.DSN, error) {
	u, c, err := parse(dsn)
	if err != nil {
		return database.DSN{}, err
	}
	q := u.Query()
	d := database.DSN{User: u.User.Username(), Password: q.Get("password")}
	if named := q.Get("user"); named != "" {
		d.User = named
	}
	if given, set := u.User.Password(); set {
		d.Password = given
	}
	if !strings.HasPrefix(c.Host, "/") {
		d.Address = net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	for _, name := range secrets {
		q.Del(name)
	}
	u.RawQuery = q.Encode()
	d.Public = u.String()
	return d, nil
}

// WithPassword is the DSN with this password; as it was where it cannot be read.
func (Driver) WithPassword(dsn, password string) string {
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
