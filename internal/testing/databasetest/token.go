package databasetest

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Identity holds the AWS credentials that sign tokens.
type Identity struct{ KeyID, Secret, Region string }

// TestIdentity holds the example credentials of the AWS documentation.
var TestIdentity = Identity{KeyID: "AKIAIOSFODNN7EXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", Region: "eu-west-1"}

// Environment makes the SDK's credential chain find this identity, and ignore the
// configuration of this machine.
func (i Identity) Environment() map[string]string {
	return map[string]string{
		"AWS_ACCESS_KEY_ID": i.KeyID, "AWS_SECRET_ACCESS_KEY": i.Secret, "AWS_SESSION_TOKEN": "",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_PROFILE": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "",
	}
}

// UseIdentity sets TestIdentity in the environment of the test.
func UseIdentity(t testing.TB) Identity {
	t.Helper()
	for name, value := range TestIdentity.Environment() {
		t.Setenv(name, value)
	}
	return TestIdentity
}

// emptyBody is the SHA-256 of the empty body of a presigned GET.
const emptyBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// signed reports whether this identity signed the token for user at addr, and the
// token is not older than lifetime: it signs the same request again and compares.
func (i Identity) signed(token, addr, user string, lifetime time.Duration) bool {
	u, err := url.Parse("https://" + token)
	if err != nil || u.Host != addr {
		return false
	}
	at, err := time.Parse("20060102T150405Z", u.Query().Get("X-Amz-Date"))
	if err != nil || time.Since(at) > lifetime || time.Until(at) > time.Second {
		return false
	}
	query := url.Values{"Action": {"connect"}, "DBUser": {user}, "X-Amz-Expires": {"900"}}
	request, err := http.NewRequest(http.MethodGet, "https://"+addr+"?"+query.Encode(), nil)
	if err != nil {
		return false
	}
	again, _, err := v4.NewSigner().PresignHTTP(context.Background(), aws.Credentials{AccessKeyID: i.KeyID, SecretAccessKey: i.Secret}, request, emptyBody, "rds-db", i.Region, at)
	return err == nil && strings.TrimPrefix(again, "https://") == token
}
