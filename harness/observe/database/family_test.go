package database

import (
	"strings"
	"testing"
)

func TestFamilies(t *testing.T) {
	for dsn, want := range map[string]struct {
		family  Family
		public  string
		address string
		user    string
	}{
		"u:secret@tcp(db:3306)/shop":                                     {MySQL, "u@tcp(db:3306)/shop", "db:3306", "u"},
		"u:secret@unix(/run/my.sock)/shop":                               {MySQL, "u@unix(/run/my.sock)/shop", "", "u"},
		"postgres://u:secret@db:5433/shop?sslmode=disable":               {PostgreSQL, "postgres://u@db:5433/shop?sslmode=disable", "db:5433", "u"},
		"postgresql://u:s%2Fe%3Ac@[::1]/shop":                            {PostgreSQL, "postgresql://u@[::1]/shop", "[::1]:5432", "u"},
		"postgres://db/shop?user=u&password=secret&sslpassword=secret":   {PostgreSQL, "postgres://db/shop?user=u", "db:5432", "u"},
		"postgres://u:secret@/shop?host=/run/postgresql":                 {PostgreSQL, "postgres://u@/shop?host=%2Frun%2Fpostgresql", "", "u"},
		"postgres://u:secret@one:5432,two:5433/shop?sslmode=verify-full": {PostgreSQL, "postgres://u@one:5432,two:5433/shop?sslmode=verify-full", "one:5432", "u"},
	} {
		if got := FamilyOf(dsn); got != want.family {
			t.Errorf("%s is of %s", dsn, got)
		}
		if got := Public(dsn); got != want.public {
			t.Errorf("public of %s is %s", dsn, got)
		}
		if got, ok := Address(dsn); !ok || got != want.address {
			t.Errorf("address of %s is %q, %v", dsn, got, ok)
		}
		user, password, err := Login(dsn)
		if err != nil || user != want.user || password == "" {
			t.Errorf("login of %s is %q, %q, %v", dsn, user, password, err)
		}
		// Another password, joined to what is public, is read back.
		for _, other := range []string{"a", "p/w:@%?#"} {
			if want.family == MySQL && other != "a" {
				continue // whose form has no escapes
			}
			user, password, err := Login(WithPassword(Public(dsn), other))
			if err != nil || user != want.user || password != other {
				t.Errorf("%s with password %q: %q, %q, %v", dsn, other, user, password, err)
			}
		}
	}
}

// What cannot be read is refused, without a part of the password.
func TestBadDSNs(t *testing.T) {
	for _, dsn := range []string{
		"postgres://u:secret@db:port/shop", "postgres://u:sec%zzret@db/shop", "postgres://u:sec/ret@db/shop",
		"postgres://u:secret@db/shop?sslmode=never", "postgres://u:secret@db/shop?sslmode=verify-full&sslrootcert=/no/such/file",
		"no DSN with a secret",
	} {
		_, err := Open(dsn)
		if err == nil {
			t.Errorf("%s is opened", dsn)
			continue
		}
		for _, part := range []string{"sec", "ret@", "zz", "\n"} {
			if strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v", dsn, err)
			}
		}
		if _, _, err := Login(dsn); err == nil && FamilyOf(dsn) == MySQL {
			t.Errorf("login of %s", dsn)
		}
		if address, ok := Address(dsn); ok {
			t.Errorf("address of %s is %s", dsn, address)
		}
		if public := Public(dsn); strings.Contains(public, "secret") || strings.Contains(public, "ret@") {
			t.Errorf("public of %s is %s", dsn, public)
		}
	}
}

func TestStatement(t *testing.T) {
	const text = "DELETE FROM a WHERE run = ? OR other = ?"
	for family, want := range map[Family]string{MySQL: text, PostgreSQL: "DELETE FROM a WHERE run = $1 OR other = $2"} {
		if got := (&DB{Family: family}).Statement(text); got != want {
			t.Errorf("%s: %s", family, got)
		}
	}
}
