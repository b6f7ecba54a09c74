package mysql_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/testing/databasetest"
)

// A DSN that cannot work is rejected before connecting, with a hint and without printing
// its password.
func TestConfigRefuses(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	authority := databasetest.NewAuthority(t)
	for name, c := range map[string]struct{ dsn, problem, hint string }{
		"no such file":     {"u@tcp(db:3306)/s?tlsCA=/no/such.pem", "certificate authorities cannot be read", "global-bundle.pem"},
		"a pipe":           {"u@tcp(db:3306)/s?tlsCA=" + pipe, "not a regular file", "global-bundle.pem"},
		"no certificate":   {"u@tcp(db:3306)/s?tlsCA=" + empty, "holds no certificate", "global-bundle.pem"},
		"both tls":         {"u@tcp(db:3306)/s?tls=skip-verify&tlsCA=" + authority.Bundle, "both tls and tlsCA", "leave tls out"},
		"no region":        {"u@tcp(db:3306)/s?tls=true&iamRegion=Ireland", `"Ireland", which is not an AWS region`, "eu-west-1"},
		"with password":    {"u:secret@tcp(db:3306)/s?tls=true&iamRegion=eu-west-1", "both a password and iamRegion", "leave the password out"},
		"no user":          {"tcp(db:3306)/s?tls=true&iamRegion=eu-west-1", "needs a user", "user@tcp"},
		"a socket":         {"u@unix(/tmp/s)/s?tls=true&iamRegion=eu-west-1", "needs tcp", "user@tcp"},
		"no TLS":           {"u@tcp(db:3306)/s?iamRegion=eu-west-1", "only over verified TLS", "tlsCA=FILE"},
		"TLS not verified": {"u@tcp(db:3306)/s?tls=skip-verify&iamRegion=eu-west-1", "only over verified TLS", "tlsCA=FILE"},
		"TLS preferred":    {"u@tcp(db:3306)/s?tls=preferred&iamRegion=eu-west-1", "only over verified TLS", "tlsCA=FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mysql.Config(c.dsn)
			var known *database.Error
			if !errors.As(err, &known) || !strings.Contains(known.Problem, c.problem) || !strings.Contains(known.Remedy, c.hint) || strings.Contains(known.Problem, "secret") {
				t.Errorf("%v", err)
			}
			// As users write it, and as it is recorded.
			for _, dsn := range []string{c.dsn, databases.Public(c.dsn)} {
				if parsed, err := databases.Parse(dsn); err != nil || len(parsed.Extensions) == 0 {
					t.Errorf("%s is parsed without extensions, as if a script could open it: %+v, %v", dsn, parsed, err)
				}
			}
		})
	}
	if _, err := mysql.Config("u@tcp(db:3306)/s?tls=true&iamRegion=eu-west-1&time_zone=%27%2B00%3A00%27"); err != nil {
		t.Error(err)
	}
	if parsed, err := databases.Parse("u:p@tcp(db:3306)/s?parseTime=true"); err != nil || len(parsed.Extensions) != 0 {
		t.Errorf("a plain DSN is parsed with extensions: %+v, %v", parsed, err)
	}
}

// The public form of a DSN keeps how it authenticates, without the password.
func TestPublicKeepsExtensions(t *testing.T) {
	t.Parallel()
	got := databases.Public("u:secret@tcp(db:3306)/s?tlsCA=%2Fetc%2Fbundle.pem")
	if strings.Contains(got, "secret") || !strings.Contains(got, "tlsCA=%2Fetc%2Fbundle.pem") {
		t.Error(got)
	}
}

// Without credentials the error is one line with a hint, without a long wait.
func TestTokensWithoutCredentials(t *testing.T) {
	databasetest.UseIdentity(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	db, err := databases.OpenSQL("assay@tcp(127.0.0.1:1)/?iamRegion=eu-west-1&tls=true")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	err = db.Ping(t.Context())
	if err == nil || databases.Reason(err) != "no AWS credentials for an IAM token" || !strings.Contains(hint.Of(err), "aws sts get-caller-identity") {
		t.Errorf("%v; hint %q", err, hint.Of(err))
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"root:secret@tcp(127.0.0.1:1)/", "not a DSN with a secret"} {
		c := mysql.New(dsn)
		err := c.Start(t.Context())
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("start: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// The number of a pooler's session may be that of the server's by chance. It still names itself.
func TestPoolerNamesItself(t *testing.T) {
	t.Parallel()
	for want, told := range map[string][2]string{"": {"8.4.5", "Source distribution"}, "ProxySQL": {"8.0.11", "(ProxySQL)"}, "MaxScale": {"11.4.2-MariaDB-maxscale", "Debian 13"}} {
		address := databasetest.MySQLServer(t, told[0], func(text string) [][]byte {
			switch {
			case strings.Contains(text, "CONNECTION_ID()"), strings.Contains(text, "GET_LOCK"):
				return databasetest.Text(databasetest.Session)
			case strings.Contains(text, "@@version_comment"):
				return databasetest.Text(told[1])
			case want != "" && text != "":
				t.Errorf("%s: it executed %s", want, text)
			}
			return nil
		})
		db, err := databases.OpenSQL("u:p@tcp(" + address + ")/shop?sql_mode=%27ANSI%27")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		err = db.Ping(t.Context())
		if errors.Is(err, database.ErrPooler) != (want != "") || want == "" && err != nil || want != "" && !strings.Contains(err.Error(), "("+want+") answers there, not the server: it names itself") {
			t.Errorf("%q: %v", want, err)
		}
	}
}
