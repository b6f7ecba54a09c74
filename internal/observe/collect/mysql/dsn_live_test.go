//go:build live

package mysql_test

import (
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/databasetest"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// The server's certificate must be signed by the named authority, for the named host.
func onlyItsAuthority(t *testing.T, b *bench, trusted databasetest.Authority) {
	t.Helper()
	other := databasetest.NewAuthority(t)
	ping := func(bundle, host string) error {
		c, err := driver.ParseDSN(b.dsn)
		if err != nil {
			t.Fatal(err)
		}
		c.Addr = strings.Replace(c.Addr, "127.0.0.1", host, 1)
		c.Params = map[string]string{"tlsCA": bundle}
		db, err := databases.OpenSQL(c.FormatDSN())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if err := db.Ping(t.Context()); err != nil {
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
}

func TestServerWithoutTLS(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	server := mysqldtest.StartInMemory(t, "mariadb", "--skip-ssl")
	db, err := databases.OpenSQL(server.DSN() + "?tlsCA=" + databasetest.NewAuthority(t).Bundle)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Ping(t.Context()); err == nil || !strings.Contains(hint.Of(err), "switch TLS on") {
		t.Errorf("%v", err)
	}
}

// A connection that breaks after its token has expired is reopened with a new token.
func TestTokensAreFreshForEachConnection(t *testing.T) {
	budget.CPUs(t, 0.1)
	identity := databasetest.UseIdentity(t)
	server := mysqldtest.StartInMemory(t, "mariadb")
	root, err := driver.ParseDSN(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	proxy := databasetest.NewIAMProxy(t, databasetest.Backend{Addr: root.Addr, User: root.User, Password: root.Passwd}, "assay", identity)
	proxy.Lifetime = 3 * time.Second
	db, err := databases.OpenSQL("assay@tcp(" + proxy.Addr + ")/?iamRegion=eu-west-1&tlsCA=" + proxy.Authority.Bundle)
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
	forged, err := databases.OpenSQL("assay@tcp(" + proxy.Addr + ")/?iamRegion=eu-west-1&tlsCA=" + proxy.Authority.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = forged.Close() }()
	if err := forged.Ping(t.Context()); err == nil || databases.Reason(err) != "Access denied for user" {
		t.Errorf("a token signed with another key: %v", err)
	}
}
