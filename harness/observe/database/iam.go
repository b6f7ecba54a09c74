package database

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/rds/auth"
	"github.com/go-sql-driver/mysql"
)

// regionForm is that of names of AWS regions, such as eu-west-1.
var regionForm = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]$`)

// useTokens logs in by IAM. A token lives for 15 minutes, and is looked at only
// when a connection is made: a run that is longer needs a fresh one for each
// connection, and none for those that stand. verified says that TLS is.
func useTokens(c *mysql.Config, region string, verified bool) error {
	example := "write for example user@tcp(shop.cluster-abc.eu-west-1.rds.amazonaws.com:3306)/shop?" + paramIAM + "=eu-west-1&" + paramCA + "=global-bundle.pem"
	switch {
	case !regionForm.MatchString(region):
		return &Error{fmt.Sprintf("%s is %q, which is not an AWS region", paramIAM, region), example}
	case c.Passwd != "":
		return &Error{"the DSN has both a password and " + paramIAM, "leave the password out: IAM makes one for each connection"}
	case c.User == "":
		return &Error{paramIAM + " needs a user", example}
	case c.Net != "tcp":
		return &Error{fmt.Sprintf("%s goes with tcp, not with %s", paramIAM, c.Net), example}
	case !verified:
		// Who reads a token can log in with it.
		return &Error{"tokens of IAM are sent only by TLS that is verified, and the DSN has none", "add " + paramCA + "=FILE, the global-bundle.pem that AWS publishes for RDS"}
	}
	c.AllowCleartextPasswords = true // that is how RDS takes tokens
	credentials := &chain{region: region}
	return c.Apply(mysql.BeforeConnect(func(ctx context.Context, c *mysql.Config) error {
		token, err := credentials.token(ctx, c.Addr, c.User)
		if err != nil {
			return err
		}
		c.Passwd = token
		return nil
	}))
}

// chain is the SDK's ordinary chain of credentials (environment, shared files,
// web identity, container, instance), which renews those that expire.
type chain struct {
	region string

	mu       sync.Mutex
	provider aws.CredentialsProvider // nil: not loaded yet
}

func (c *chain) token(ctx context.Context, addr, user string) (string, error) {
	provider, err := c.credentials(ctx)
	if err != nil {
		return "", err
	}
	token, err := auth.BuildAuthToken(ctx, addr, c.region, user, provider)
	if err != nil {
		return "", credentialsError(ctx, err)
	}
	return token, nil
}

func (c *chain) credentials(ctx context.Context) (aws.CredentialsProvider, error) {
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

// credentialsError says in one line what the SDK tells in many clauses, which
// could name what is secret.
func credentialsError(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("no AWS credentials in time: %w", context.Cause(ctx))
	}
	return &Error{"no AWS credentials for a token of IAM", "see that this works here: aws sts get-caller-identity; and that the role may rds-db:connect"}
}
