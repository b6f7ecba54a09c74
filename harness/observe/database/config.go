package database

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Parameters of a DSN that are ours, beside the driver's.
const (
	// paramCA names a PEM file of the certificate authorities that the server's
	// certificate must come from, such as the bundle that AWS publishes for RDS.
	// It implies TLS.
	paramCA = "tlsCA"
	// paramIAM names the AWS region whose IAM logs the user in: each new
	// connection gets a token of its own instead of a password.
	paramIAM = "iamRegion"
)

// Error is a DSN, or a connection, that is of no use for a reason that has a
// remedy.
type Error struct{ Problem, Hint string }

func (e *Error) Error() string { return e.Problem }

// Config reads a DSN: the driver's form and our parameters. It connects to
// nothing, and reads the file of authorities.
func Config(dsn string) (*mysql.Config, error) {
	c, err := Parse(dsn)
	if err != nil {
		return nil, err
	}
	c.Logger = &mysql.NopLogger{} // errors are returned; stderr belongs to the command
	if file, named := take(c, paramCA); named {
		if c.TLSConfig != "" {
			return nil, &Error{"the DSN has both tls and " + paramCA, "leave tls out: " + paramCA + " implies it"}
		}
		if c.TLS, err = trusting(file); err != nil {
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

// Parse reads a DSN as far as it can be without a look at anything else: our
// parameters stay among the others.
func Parse(dsn string) (*mysql.Config, error) {
	c, err := mysql.ParseDSN(withPath(dsn))
	if err != nil {
		return nil, fmt.Errorf("read DSN: %w", err)
	}
	return c, nil
}

// withPath lets a path stand in a DSN as people write it: to the driver the last
// slash begins the schema.
func withPath(dsn string) string {
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

// Ours tells whether a DSN has parameters that the driver alone does not know:
// a script that opens the database itself cannot use it.
func Ours(dsn string) bool {
	c, err := Parse(dsn)
	if err != nil {
		return false
	}
	_, ca := c.Params[paramCA]
	_, iam := c.Params[paramIAM]
	return ca || iam
}

// take removes a parameter, which the driver would send to the server as a
// variable to set.
func take(c *mysql.Config, name string) (value string, named bool) {
	value, named = c.Params[name]
	delete(c.Params, name)
	return value, named
}

// trusting is TLS with the authorities in the file, and no others.
func trusting(file string) (*tls.Config, error) {
	hint := paramCA + " names a PEM file, such as the global-bundle.pem that AWS publishes for RDS"
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, &Error{fmt.Sprintf("certificate authorities cannot be read: %v", err), hint}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &Error{fmt.Sprintf("%s holds no certificate", file), hint}
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil // the driver sets the server's name
}

// Hint is the next step after an error of connecting, or else the usual one.
func Hint(err error, usual string) string {
	var known *Error
	var unknown x509.UnknownAuthorityError
	var misnamed x509.HostnameError
	var expired x509.CertificateInvalidError
	switch {
	case errors.As(err, &known):
		return known.Hint
	case errors.As(err, &unknown):
		return "name the authority's file in the DSN: " + paramCA + "=FILE; for RDS and Aurora the global-bundle.pem that AWS publishes"
	case errors.As(err, &misnamed):
		return "name the server in the DSN as its certificate does: the cluster's or the instance's endpoint, not an alias or address"
	case errors.As(err, &expired):
		return "renew the server's certificate; on RDS choose one of the certificate authorities that are valid"
	case errors.Is(err, mysql.ErrNoTLS):
		return "switch TLS on in the server"
	}
	return usual
}
