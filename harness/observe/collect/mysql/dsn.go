package mysql

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"assay/harness/observe/database"
)

// Parameters of a DSN that only Assay knows.
const (
	// paramCA names a PEM file of the certificate authorities that the server's
	// certificate must come from, such as the bundle that AWS publishes for RDS.
	// It implies TLS.
	paramCA = "tlsCA"
	// paramIAM names the AWS region whose IAM logs the user in: each new
	// connection gets a token of its own instead of a password.
	paramIAM = "iamRegion"
)

// Parse reads a DSN without a look at anything else: a file that it names may be
// missing.
func (Driver) Parse(dsn string) (database.DSN, error) {
	if dsn == "" {
		return database.DSN{}, database.ErrNoDSN
	}
	c, err := parse(dsn)
	if err != nil {
		return database.DSN{}, err
	}
	d := database.DSN{User: c.User, Password: c.Passwd, Address: c.Addr}
	if c.Net == "unix" {
		d.Address = ""
	}
	for _, name := range []string{paramCA, paramIAM} {
		if _, ok := c.Params[name]; ok {
			d.Extensions = append(d.Extensions, name)
		}
	}
	c.Passwd = ""
	d.Public = c.FormatDSN()
	return d, nil
}

// WithPassword is the DSN with this password; as it was where it cannot be read.
func (Driver) WithPassword(dsn, password string) string {
	c, err := parse(dsn)
	if err != nil {
		return dsn
	}
	c.Passwd = password
	return c.FormatDSN()
}

// Config reads a DSN into the driver's configuration, with Assay's parameters
// carried out. It connects to nothing, and reads the file of certificate
// authorities.
func Config(dsn string) (*driver.Config, error) {
	c, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	c.Logger = &driver.NopLogger{} // errors are returned; stderr belongs to the command
	if file, named := take(c, paramCA); named {
		if c.TLSConfig != "" {
			return nil, &database.Error{Problem: "the DSN has both tls and " + paramCA, Remedy: "leave tls out: " + paramCA + " implies it"}
		}
		if c.TLS, err = trustOnly(file); err != nil {
			return nil, err
		}
	}
	if region, named := take(c, paramIAM); named {
		verified := c.TLS != nil && !c.TLS.InsecureSkipVerify && !c.AllowFallbackToPlaintext
		if err := useTokens(c, region, verified); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// parse reads a DSN; Assay's parameters stay among Params.
func parse(dsn string) (*driver.Config, error) {
	c, err := driver.ParseDSN(escapePath(dsn))
	if err != nil {
		return nil, fmt.Errorf("read DSN: %w", err)
	}
	return c, nil
}

// escapePath lets the path of the authorities' file stand in a DSN as people write
// it: to the driver the last slash begins the schema.
func escapePath(dsn string) string {
	for _, before := range []string{"?", "&"} {
		if i := strings.LastIndex(dsn, before+paramCA+"="); i >= 0 {
			path, rest, more := strings.Cut(dsn[i+1:], "&")
			dsn = dsn[:i+1] + strings.ReplaceAll(path, "/", "%2F")
			if more {
				dsn += "&" + rest
			}
		}
	}
	return dsn
}

// take removes a parameter, which the driver would send to the server as a
// variable to set.
func take(c *driver.Config, name string) (value string, named bool) {
	value, named = c.Params[name]
	delete(c.Params, name)
	return value, named
}

// trustOnly is TLS with the authorities in the file, and no others.
func trustOnly(file string) (*tls.Config, error) {
	remedy := paramCA + " names a PEM file, such as the global-bundle.pem that AWS publishes for RDS"
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, &database.Error{Problem: fmt.Sprintf("certificate authorities cannot be read: %v", err), Remedy: remedy}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &database.Error{Problem: fmt.Sprintf("%s holds no certificate", file), Remedy: remedy}
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil // the driver sets the server's name
}

// connectHint is the next step after an error of connecting.
func connectHint(err error) string {
	var unknown x509.UnknownAuthorityError
	var misnamed x509.HostnameError
	var expired x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return "name the authority's file in the DSN: " + paramCA + "=FILE; for RDS and Aurora the global-bundle.pem that AWS publishes"
	case errors.As(err, &misnamed):
		return "name the server in the DSN as its certificate does: the cluster's or the instance's endpoint, not an alias or address"
	case errors.As(err, &expired):
		return "renew the server's certificate; on RDS choose one of the certificate authorities that are valid"
	case errors.Is(err, driver.ErrNoTLS):
		return "switch TLS on in the server"
	}
	return ""
}
