package postgres

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay.dev/assay/internal/observe/database"
)

// parse reads a DSN as the driver does, in libpq's form: sslmode and the certificate files
// are parameters, whose defaults are PGSSLMODE and the other PG environment variables.
func parse(dsn string) (*url.URL, *pgx.ConnConfig, error) {
	// The errors of the parsers could contain a part of the password.
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, nil, errors.New("read DSN: not a URL; percent-encode special characters in the password (%XX)")
	}
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		why := errors.Unwrap(err)
		if why == nil {
			why = errors.New("invalid value of a parameter")
		}
		return nil, nil, fmt.Errorf("read DSN: %w", why)
	}
	given := c.RuntimeParams
	c.RuntimeParams = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(given)) { // TimeZone is timezone
		c.RuntimeParams[strings.ToLower(name)] = given[name]
	}
	delete(c.RuntimeParams, "application_name") // settle sets it
	return u, c, nil
}

// option matches a setting in the parameter `options`: -c name=value, or --name=value.
var option = regexp.MustCompile(`(?:^|\s)(?:-c\s*|--)([\w.-]+)\s*=`)

// names reports whether the parameters of a DSN have a setting, by itself or among the
// options, which a server applies first.
func names(parameters map[string]string, setting string) bool {
	_, named := parameters[setting]
	for _, o := range option.FindAllStringSubmatch(parameters["options"], -1) {
		named = named || strings.EqualFold(strings.ReplaceAll(o[1], "-", "_"), setting)
	}
	return named
}

// secrets are the parameters that are neither printed nor recorded.
var secrets = []string{"password", "sslpassword", "passfile"}

// Parse reads a DSN and the files that it names.
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

// WithPassword returns the DSN with this password, or unchanged if it is invalid.
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
