package postgrestest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/harness/observe/database/databasetest"
	"assay/harness/servers/mysqld/mysqldtest"
)

// Secure lets the server speak TLS, and returns the file of the authority that
// its certificate comes from, which nobody else knows.
func (s *Server) Secure(t testing.TB) (authority string) {
	t.Helper()
	a := databasetest.NewAuthority(t)
	for name, from := range map[string]string{"server.crt": a.Cert, "server.key": a.Key} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(s.data(), name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := own(s.as, path); err != nil {
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
			return a.Bundle
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not speak TLS")
		}
	}
}
