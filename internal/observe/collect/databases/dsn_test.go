package databases_test

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/collect/postgres"
)

func TestParse(t *testing.T) {
	for dsn, want := range map[string]struct {
		driver  databases.Driver
		public  string
		address string
		user    string
	}{
		"u:secret@tcp(db:3306)/shop":                                     {mysql.Driver{}, "u@tcp(db:3306)/shop", "db:3306", "u"},
		"u:secret@unix(/run/my.sock)/shop":                               {mysql.Driver{}, "u@unix(/run/my.sock)/shop", "", "u"},
		"postgres://u:secret@db:5433/shop?sslmode=disable":               {postgres.Driver{}, "postgres://u@db:5433/shop?sslmode=disable", "db:5433", "u"},
		"postgresql://u:s%2Fe%3Ac@[::1]/shop":                            {postgres.Driver{}, "postgresql://u@[::1]/shop", "[::1]:5432", "u"},
		"postgres://db/shop?user=u&password=secret&sslpassword=secret":   {postgres.Driver{}, "postgres://db/shop?user=u", "db:5432", "u"},
		"postgres://u:secret@/shop?host=/run/postgresql":                 {postgres.Driver{}, "postgres://u@/shop?host=%2Frun%2Fpostgresql", "", "u"},
		"postgres://u:secret@one:5432,two:5433/shop?sslmode=verify-full": {postgres.Driver{}, "postgres://u@one:5432,two:5433/shop?sslmode=verify-full", "one:5432", "u"},
	} {
		driver := databases.Of(dsn)
		if driver != want.driver {
			t.Errorf("%s has the driver %T", dsn, driver)
		}
		got, err := databases.Parse(dsn)
		if err != nil || got.Public != want.public || got.Address != want.address || got.User != want.user || got.Password == "" {
			t.Errorf("%s: %+v, %v", dsn, got, err)
		}
		if public := databases.Public(dsn); public != want.public {
			t.Errorf("public of %s is %s", dsn, public)
		}
		// Another password can be added to the public form and parsed again.
		for _, other := range []string{"a", "p/w:@%?#"} {
			if want.driver == (mysql.Driver{}) && other != "a" {
				continue // its DSNs have no escapes
			}
			got, err := databases.Parse(driver.WithPassword(want.public, other))
			if err != nil || got.User != want.user || got.Password != other {
				t.Errorf("%s with password %q: %+v, %v", dsn, other, got, err)
			}
		}
	}
}

// Invalid DSNs are rejected without printing a part of the password.
func TestBadDSNs(t *testing.T) {
	for _, dsn := range []string{
		"postgres://u:secret@db:port/shop", "postgres://u:sec%zzret@db/shop", "postgres://u:sec/ret@db/shop",
		"postgres://u:secret@db/shop?sslmode=never", "postgres://u:secret@db/shop?sslmode=verify-full&sslrootcert=/no/such/file",
		"no DSN with a secret",
	} {
		_, opened := databases.Open(dsn)
		got, parsed := databases.Parse(dsn)
		for _, err := range []error{opened, parsed} {
			if err == nil {
				t.Errorf("%s is accepted: %+v", dsn, got)
				continue
			}
			for _, part := range []string{"sec", "ret@", "zz", "\n"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("%s: %v", dsn, err)
				}
			}
		}
		if public := databases.Public(dsn); public != "" {
			t.Errorf("public of %s is %s", dsn, public)
		}
	}
	if got, err := databases.Parse(""); err == nil || got.Public != "" {
		t.Errorf("no DSN: %+v, %v", got, err)
	}
}

func TestBind(t *testing.T) {
	const text = "DELETE FROM a WHERE run = ? OR other = ?"
	for driver, want := range map[databases.Driver]string{mysql.Driver{}: text, postgres.Driver{}: "DELETE FROM a WHERE run = $1 OR other = $2"} {
		if got := driver.Dialect().Bind(text); got != want {
			t.Errorf("%s: %s", driver.Dialect().Name, got)
		}
	}
}

func TestVersionsAndExamples(t *testing.T) {
	if got, want := databases.Versions(), "MySQL 8 or 9, MariaDB 10.6 or later, or PostgreSQL 14 or later"; got != want {
		t.Errorf("versions %q, want %q", got, want)
	}
	if got, want := databases.PublicExamples(), "user@tcp(127.0.0.1:3306)/shop or postgres://user@127.0.0.1:5432/shop"; got != want {
		t.Errorf("examples %q, want %q", got, want)
	}
	for _, example := range strings.Split(databases.Examples(), " or ") {
		if got, err := databases.Parse(example); err != nil || got.User != "user" || got.Password != "password" {
			t.Errorf("%s: %+v, %v", example, got, err)
		}
	}
}
