package samplingtest

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"
)

// Rest is how long sessions of a load rest after each statement where its rate does not
// matter: the test then leaves CPU to others.
const Rest = 10 * time.Millisecond

// Load runs statements made by next from n sessions, which rest after each, until stop is
// called.
func Load(t *testing.T, db *sql.DB, n int, rest time.Duration, next func() string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var sessions sync.WaitGroup
	for range n {
		sessions.Go(func() {
			conn, err := db.Conn(ctx)
			if err != nil {
				t.Errorf("connect: %v", err)
				return
			}
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
	stop = sync.OnceFunc(func() { cancel(); sessions.Wait() })
	t.Cleanup(stop)
	return stop
}
