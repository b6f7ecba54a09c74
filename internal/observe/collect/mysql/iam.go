package mysql

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/rds/auth"
	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/database"
)

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
