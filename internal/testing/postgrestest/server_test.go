//go:build live

package postgrestest

import (
	"os"
	"strings"
	"testing"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// A server answers, survives a stop and a crash with what was committed, and
// leaves nothing behind.
func TestServer(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.35)
	var s *Server
	t.Run("life", func(t *testing.T) {
		s = Start(t, "shared_buffers=16MB")
		db := Open(t, s.DSN())
		mysqldtest.Exec(t, db, "CREATE TABLE kept (id int)", "INSERT INTO kept VALUES (1)")
		for name, end := range map[string]func() error{"stop": s.Stop, "kill": s.Kill} {
			if err := end(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := s.Restart(t.Context()); err != nil {
				t.Fatalf("after %s: %v", name, err)
			}
			again := Open(t, s.DSN())
			var n int
			var buffers, listens string
			err := again.QueryRow("SELECT (SELECT count(*) FROM kept), current_setting('shared_buffers'), current_setting('listen_addresses') || current_setting('unix_socket_directories')").Scan(&n, &buffers, &listens)
			if err != nil || n != 1 || buffers != "16MB" || listens != "127.0.0.1" {
				t.Errorf("after %s: %d rows, shared_buffers %s, listens at %s: %v", name, n, buffers, listens, err)
			}
		}
		if strings.Contains(s.UserDSN("u", "a/b@c", "d"), "a/b@c") {
			t.Error("a password is not escaped")
		}
	})
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
	if n, err := s.processes(); n > 0 || err != nil {
		t.Errorf("%d processes are left: %v", n, err)
	}
}
