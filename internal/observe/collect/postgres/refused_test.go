package postgres_test

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/collect/postgres"
)

func TestNoServer(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"postgres://root:secret@127.0.0.1:1/x", "postgres://root:secret@[::1/x", "postgres://u:secret@127.0.0.1:1/x?sslmode=never"} {
		c := postgres.New(dsn)
		err := c.Start(t.Context())
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("start: %v", err)
		}
		if _, err := c.Describe(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("describe: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}
