package mysql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/rds/auth"
	code "github.com/go-mysql-org/go-mysql/mysql"
	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/database"
)

// DSN parameters that Assay adds to those of the driver.
const (
	// paramCA names a PEM file with the only certificate authorities to trust, such as
	// the bundle that AWS publishes for RDS. It implies TLS.
	paramCA = "tlsCA"
	// paramIAM names the AWS region for IAM authentication: each new connection logs
	// in with a fresh token instead of a password.
	paramIAM = "iamRegion"
)

// Parse reads a DSN. It does not read the files that the DSN names.
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

// WithPassword returns the DSN with this password, or unchanged if it is invalid.
func (Driver) WithPassword(dsn, password string) string {
	c, err := parse(dsn)
	if err != nil {
		return dsn
	}
	c.Passwd = password
	return c.FormatDSN()
}

// Config converts a DSN to the driver's configuration and applies Assay's parameters.
// It reads the CA file but does not connect.
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

// ownConfig is Config for connections of Assay's own, without the DSN's charset: the driver
// would set it before it is known who answers. The driver's own charset is as good, because
// the server converts. Two variables are always our own: each statement is a transaction, and
// times are in UTC.
func ownConfig(dsn string) (*driver.Config, error) {
	dsn = escapePath(dsn)
	slash := strings.LastIndexByte(dsn, '/')
	schema, query, _ := strings.Cut(dsn[slash+1:], "?")
	parameters := slices.DeleteFunc(strings.Split(query, "&"), func(p string) bool { return strings.HasPrefix(p, "charset=") })
	c, err := Config(dsn[:slash+1] + schema + "?" + strings.Join(parameters, "&"))
	if err != nil {
		return nil, err
	}
	delete(c.Params, "autocommit")
	delete(c.Params, "time_zone")
	return c, nil
}

// parse reads a DSN and leaves Assay's parameters in Params.
func parse(dsn string) (*driver.Config, error) {
	c, err := driver.ParseDSN(escapePath(dsn))
	if err != nil {
		return nil, unreadable(err)
	}
	return c, nil
}

// unreadable is the driver's error about a DSN, which quotes parts of it, as one line.
func unreadable(err error) error { return errors.New("read DSN: " + database.Line(err.Error())) }

// escapePath escapes the path of the CA file, so that users need not: the driver takes
// what follows the last slash as the schema.
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

// take removes a parameter; the driver would send it to the server as a system variable.
func take(c *driver.Config, name string) (value string, named bool) {
	value, named = c.Params[name]
	delete(c.Params, name)
	return value, named
}

// maxAuthorities bounds a file of certificate authorities, bytes. The global one of RDS has
// 170 kB.
const maxAuthorities = 4 << 20

// trustOnly returns a TLS configuration that trusts only the authorities in the file.
func trustOnly(file string) (*tls.Config, error) {
	remedy := paramCA + " names a PEM file, such as the global-bundle.pem that AWS publishes for RDS"
	pem, err := foreign.ReadLinked(file, maxAuthorities)
	if err != nil {
		return nil, &database.Error{Problem: fmt.Sprintf("certificate authorities cannot be read: %v", err), Remedy: remedy}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &database.Error{Problem: fmt.Sprintf("%s holds no certificate", file), Remedy: remedy}
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil // the driver sets the server's name
}

// connectHint returns the next step after a failed connection; empty: none.
func connectHint(err error) string {
	var unknown x509.UnknownAuthorityError
	var misnamed x509.HostnameError
	var expired x509.CertificateInvalidError
	switch {
	case is(err, code.ER_USER_LIMIT_REACHED, code.ER_TOO_MANY_USER_CONNECTIONS):
		return "a run needs three connections of its own: raise max_user_connections, or the user's limits: ALTER USER ... WITH MAX_USER_CONNECTIONS 0"
	case errors.As(err, &unknown):
		return "name the CA file in the DSN: " + paramCA + "=FILE; for RDS and Aurora the global-bundle.pem that AWS publishes"
	case errors.As(err, &misnamed):
		return "use the host name as its certificate does: the endpoint of the cluster or instance, not an alias or address"
	case errors.As(err, &expired):
		return "renew the server's certificate; on RDS choose a certificate authority that is still valid"
	case errors.Is(err, driver.ErrNoTLS):
		return "switch TLS on: configure a certificate on the server"
	}
	return ""
}

// useTokens configures IAM authentication. A token is valid for 15 minutes and is
// checked only when a connection is opened: each new connection gets a fresh one, and
// open connections need none. verified: TLS verifies the server's certificate.
func useTokens(c *driver.Config, region string, verified bool) error {
	example := "write for example user@tcp(shop.cluster-abc.eu-west-1.rds.amazonaws.com:3306)/shop?" + paramIAM + "=eu-west-1&" + paramCA + "=global-bundle.pem"
	switch {
	case !database.IsRegion(region):
		return &database.Error{Problem: fmt.Sprintf("%s is %q, which is not an AWS region", paramIAM, region), Remedy: example}
	case c.Passwd != "":
		return &database.Error{Problem: "the DSN has both a password and " + paramIAM, Remedy: "leave the password out: IAM issues a token for each connection"}
	case c.User == "":
		return &database.Error{Problem: paramIAM + " needs a user", Remedy: example}
	case c.Net != "tcp":
		return &database.Error{Problem: fmt.Sprintf("%s needs tcp, not %s", paramIAM, c.Net), Remedy: example}
	case !verified:
		// Anyone who intercepts a token can log in with it.
		return &database.Error{Problem: "IAM tokens are sent only over verified TLS, which the DSN does not configure", Remedy: "add " + paramCA + "=FILE, the global-bundle.pem that AWS publishes for RDS"}
	}
	c.AllowCleartextPasswords = true // RDS expects the token as a cleartext password
	credentials := &credentials{region: region}
	return c.Apply(driver.BeforeConnect(func(ctx context.Context, c *driver.Config) error {
		token, err := credentials.token(ctx, c.Addr, c.User)
		if err != nil {
			return err
		}
		c.Passwd = token
		return nil
	}))
}

// credentials come from the SDK's default chain (environment, shared files, web
// identity, container, instance), which renews expiring ones.
type credentials struct {
	region string

	mu       sync.Mutex
	provider aws.CredentialsProvider // nil: not loaded yet
}

func (c *credentials) token(ctx context.Context, addr, user string) (string, error) {
	provider, err := c.load(ctx)
	if err != nil {
		return "", err
	}
	token, err := auth.BuildAuthToken(ctx, addr, c.region, user, provider)
	if err != nil {
		return "", credentialsError(ctx, err)
	}
	return token, nil
}

func (c *credentials) load(ctx context.Context) (aws.CredentialsProvider, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.provider == nil {
		loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(c.region))
		if err != nil {
			return nil, credentialsError(ctx, err)
		}
		c.provider = loaded.Credentials
	}
	return c.provider, nil
}

// credentialsError replaces the SDK's long error, which could contain secrets.
func credentialsError(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("timed out getting AWS credentials: %w", context.Cause(ctx))
	}
	return &database.Error{Problem: "no AWS credentials for an IAM token", Remedy: "check that this works here: aws sts get-caller-identity; and that the role allows rds-db:connect"}
}
