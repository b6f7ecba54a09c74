package postgrestest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay.dev/assay/internal/testing/mysqldtest"
)

// EnableTLS turns on TLS with a certificate and its key, both files.
func (s *Server) EnableTLS(t testing.TB, certificate, key string) {
	t.Helper()
	for name, from := range map[string]string{"server.crt": certificate, "server.key": key} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(s.data(), name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := chown(s.owner, path); err != nil {
			t.Fatal(err)
		}
	}
	db := Open(t, s.DSN())
	mysqldtest.Exec(t, db, "ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()")
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var on string
		if err := db.QueryRow("SHOW ssl").Scan(&on); err != nil {
			t.Fatal(err)
		}
		if on == "on" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not turn on TLS")
		}
	}
}
