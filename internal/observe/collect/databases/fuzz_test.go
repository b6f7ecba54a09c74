package databases_test

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/collect/databases"
)

// FuzzParse: a DSN of any family is read, or refused by an error of one line.
func FuzzParse(f *testing.F) {
	for _, dsn := range []string{
		"", "u:p@tcp(127.0.0.1:3306)/shop?tls=true", "u:p@unix(/run/mysqld.sock)/shop", "u@tcp([::1]:1)/a?tlsCA=/a/b&iamRegion=eu-west-1", "@/", "u:p@tcp(/", "\n/", "u:p@\n(db)/", "?&tlsCA=/",
		"postgres://u:p@127.0.0.1:5432/shop?sslmode=disable", "postgres://", "postgresql://u@[::1]/shop", "postgres://one:5432,two:5433/shop", "postgres:///?host=/run", "postgres://u:%zz@db",
	} {
		f.Add(dsn)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		if strings.Contains(dsn, "ssl") || strings.Contains(dsn, "pass") || strings.Contains(dsn, "service") {
			return // they name files
		}
		if _, err := databases.Parse(dsn); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("several lines: %q", err)
		}
		databases.Of(dsn).WithPassword(dsn, "p")
		_, _ = databases.ParseNodes("a=" + dsn)
	})
}
