package samplingtest

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"
)

const (
	// Rest is how long sessions of a load rest after each statement where its rate does not
	// matter: the test then leaves CPU to others.
	Rest = 10 * time.Millisecond
	// Brief is Rest for a test that ends when samples have seen what a fast disk keeps short.
	Brief = time.Millisecond
)

// Connect opens n sessions, which stay in the pool: a session that is sampled while it is
// opened has no statement, and may have no user.
func Connect(t *testing.T, db *sql.DB, n int) {
	t.Helper()
	for range n {
		defer func(conn *sql.Conn) { _ = conn.Close() }(open(t, db))
	}
}

func open(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	return conn
}

// Load opens n sessions, and runs statements made by next from each, which then rests, until
// stop is called.
func Load(t *testing.T, db *sql.DB, n int, rest time.Duration, next func() string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var sessions sync.WaitGroup
	stop = sync.OnceFunc(func() { cancel(); sessions.Wait() })
	t.Cleanup(stop)
	for range n {
		conn := open(t, db)
		sessions.Go(func() {
			defer func() {
				// A transaction that is left open would hold its rows in the pool.
				_, _ = conn.ExecContext(context.Background(), "ROLLBACK")
				_ = conn.Close()
			}()
			for ctx.Err() == nil {
				// Not with ctx: closing a connection leaves its statement running.
				if _, err := conn.ExecContext(context.Background(), next()); err != nil {
					t.Errorf("load: %v", err)
					return
				}
				time.Sleep(rest)
			}
		})
	}
	return stop
}
