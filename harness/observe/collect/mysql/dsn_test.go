package mysql_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"assay/harness/hint"
	"assay/harness/observe/collect/databases"
	"assay/harness/observe/collect/mysql"
	"assay/harness/observe/database"
	"assay/harness/observe/database/databasetest"
	"assay/harness/servers/mysqld/mysqldtest"
)

// A DSN that cannot work is rejected before connecting, with a hint and without printing
// its password.
func TestConfigRefuses(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	authority := databasetest.NewAuthority(t)
	for name, c := range map[string]struct{ dsn, problem, hint string }{
		"no such file":     {"u@tcp(db:3306)/s?tlsCA=/no/such.pem", "certificate authorities cannot be read", "global-bundle.pem"},
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

// The server's certificate must be signed by the named authority, for the named host.
func TestAuthority(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		trusted, other := databasetest.NewAuthority(t), databasetest.NewAuthority(t)
		server := mysqldtest.StartInMemory(t, flavour, "--ssl-ca="+trusted.Bundle, "--ssl-cert="+trusted.Cert, "--ssl-key="+trusted.Key)
		ping := func(bundle, host string) error {
			c, err := driver.ParseDSN(server.DSN())
			if err != nil {
				t.Fatal(err)
			}
			c.Addr = strings.Replace(c.Addr, "127.0.0.1", host, 1)
			c.Params = map[string]string{"tlsCA": bundle}
			db, err := databases.Open(c.FormatDSN())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if err := database.Ping(t.Context(), db); err != nil {
				return err
			}
			var name, cipher string
			if err := db.QueryRow("SHOW SESSION STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher); err != nil || cipher == "" {
				t.Errorf("the connection is not encrypted: %q, %v", cipher, err)
			}
			return nil
		}
		if err := ping(trusted.Bundle, "127.0.0.1"); err != nil {
			t.Errorf("the right authority is refused: %v", err)
		}
		err := ping(other.Bundle, "127.0.0.1")
		if err == nil || databases.Reason(err) != "certificate signed by unknown authority" || !strings.Contains(hint.Of(err), "tlsCA=FILE") {
			t.Errorf("another authority: %v; hint %q", err, hint.Of(err))
		}
		err = ping(trusted.Bundle, "localhost")
		if err == nil || !strings.Contains(hint.Of(err), "as its certificate does") {
			t.Errorf("another name: %v; hint %q", err, hint.Of(err))
		}
	})
	t.Run("a server without TLS", func(t *testing.T) {
		server := mysqldtest.StartInMemory(t, "mariadb", "--skip-ssl")
		db, err := databases.Open(server.DSN() + "?tlsCA=" + databasetest.NewAuthority(t).Bundle)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if err := database.Ping(t.Context(), db); err == nil || !strings.Contains(hint.Of(err), "switch TLS on") {
			t.Errorf("%v", err)
		}
	})
}

// A connection that breaks after its token has expired is reopened with a new token.
func TestTokensAreFreshForEachConnection(t *testing.T) {
	identity := databasetest.UseIdentity(t)
	server := mysqldtest.StartInMemory(t, "mariadb")
	root, err := driver.ParseDSN(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	proxy := databasetest.NewIAMProxy(t, databasetest.Backend{Addr: root.Addr, User: root.User, Password: root.Passwd}, "assay", identity)
	proxy.Lifetime = 2 * time.Second
	db, err := databases.Open("assay@tcp(" + proxy.Addr + ")/?iamRegion=eu-west-1&tlsCA=" + proxy.Authority.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	ask := func() error {
		var one int
		return db.QueryRowContext(t.Context(), "SELECT 1").Scan(&one)
	}
	if err := ask(); err != nil {
		t.Fatalf("the first token is refused: %v", err)
	}
	time.Sleep(proxy.Lifetime + 1100*time.Millisecond)
	if err := ask(); err != nil {
		t.Errorf("an open connection ended when its token expired: %v", err)
	}
	first, _ := proxy.Tokens()
	proxy.Drop()
	if err := ask(); err != nil {
		t.Errorf("no new connection: %v", err)
	}
	tokens, denied := proxy.Tokens()
	if len(first) != 1 || len(tokens) != 2 || denied != 0 || tokens[0] == tokens[1] {
		t.Errorf("%d tokens, then %d; %d were denied", len(first), len(tokens), denied)
	}

	// The proxy does check: it rejects an expired token and one signed with another key.
	stale, err := mysql.Config("assay@tcp(" + proxy.Addr + ")/?tlsCA=" + proxy.Authority.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	stale.Passwd, stale.AllowCleartextPasswords = tokens[0], true
	connector, err := driver.NewConnector(stale)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connector.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "Access denied") {
		t.Errorf("an expired token: %v", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another")
	forged, err := databases.Open("assay@tcp(" + proxy.Addr + ")/?iamRegion=eu-west-1&tlsCA=" + proxy.Authority.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = forged.Close() }()
	if err := database.Ping(t.Context(), forged); err == nil || databases.Reason(err) != "Access denied for user" {
		t.Errorf("a token signed with another key: %v", err)
	}
}

// Without credentials the error is one line with a hint, without a long wait.
func TestTokensWithoutCredentials(t *testing.T) {
	databasetest.UseIdentity(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	db, err := databases.Open("assay@tcp(127.0.0.1:1)/?iamRegion=eu-west-1&tls=true")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	err = database.Ping(t.Context(), db)
	if err == nil || databases.Reason(err) != "no AWS credentials for an IAM token" || !strings.Contains(hint.Of(err), "aws sts get-caller-identity") {
		t.Errorf("%v; hint %q", err, hint.Of(err))
	}
}
