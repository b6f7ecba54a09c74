//go:build live

package target

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/mysqldtest"
)

func testPool(t *testing.T, server *mysqld.Server) {
	const payments = 20
	pay := func(t *testing.T, s *service) func() {
		return func() {
			atOnce(payments, func(i int) {
				if code, answer := s.pay(t, fmt.Sprint("pay-", i)); code != http.StatusCreated {
					t.Errorf("payment %d: %d %v", i, code, answer)
				}
			})
		}
	}
	t.Run("shared", func(t *testing.T) {
		s := serve(t, server, func(c *Config) { c.Pool.MaxOpen = 4 })
		if n := s.during(t, pay(t, s))["Connections"]; n > 4 {
			t.Errorf("%d connections opened, pool of 4", n)
		}
		// The service's metrics separate the wait for the pool from the time of
		// statements, each of which first takes a connection.
		statements := s.metric(t, `db_query_duration_seconds_count{statement="select"}`) +
			s.metric(t, `db_query_duration_seconds_count{statement="insert"}`) +
			s.metric(t, `db_query_duration_seconds_count{statement="update"}`)
		if n := s.metric(t, "db_connection_wait_seconds_count"); n != statements || n != 13*payments {
			t.Errorf("%v connections taken for %v statements, want 13 per payment", n, statements)
		}
		pooled := s.metric(t, `go_sql_wait_duration_seconds_total{db_name="target"}`)
		if waited := s.metric(t, "db_connection_wait_seconds_sum"); pooled <= 0 || waited < pooled {
			t.Errorf("waited %v s for connections, %v s of it in the pool", waited, pooled)
		}
		if n := s.metric(t, `go_sql_max_open_connections{db_name="target"}`); n != 4 {
			t.Errorf("pool of %v, want 4", n)
		}
		if n := s.metric(t, `http_request_duration_seconds_count{code="201",route="POST /payments"}`); n != payments {
			t.Errorf("%v requests counted, want %d", n, payments)
		}
	})
	t.Run("per request", func(t *testing.T) {
		s := serve(t, server, func(c *Config) { c.Pool.PerRequest = true })
		if n := s.during(t, pay(t, s))["Connections"]; n < payments {
			t.Errorf("%d connections opened for %d requests, want at least one each", n, payments)
		}
		if n := s.metric(t, "db_pools_opened_total"); n != payments {
			t.Errorf("%v pools opened, want %d", n, payments)
		}
	})
	// "Too many connections" as in report D, and the remedy: a bounded pool, under the
	// same load.
	t.Run("more connections than the server allows", func(t *testing.T) {
		small := mysqldtest.StartInMemory(t, string(server.Binary().Flavour), "--max-connections=10")
		load := func(s *service) (refused int64) {
			var n atomic.Int64
			var clients sync.WaitGroup
			for i := range 60 {
				clients.Go(func() {
					if code, _ := s.pay(t, fmt.Sprint("pay-", i)); code != http.StatusCreated {
						n.Add(1)
					}
				})
			}
			clients.Wait()
			return n.Load()
		}
		s := serve(t, small, func(c *Config) { c.Pool.PerRequest = true })
		if refused := load(s); refused == 0 || !strings.Contains(strings.ToLower(s.log.String()), "too many connections") {
			t.Errorf("a pool per request: %d refused, log %s", refused, s.log)
		}
		s.db.Close()
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if refused := load(serve(t, small, func(c *Config) { c.Pool.MaxOpen = 4 })); refused > 0 {
			t.Errorf("a bounded pool: %d refused", refused)
		}
	})
	t.Run("none idle", func(t *testing.T) {
		s := serve(t, server, func(c *Config) { c.Pool.MaxIdle = 0 })
		if n := s.during(t, pay(t, s))["Connections"]; n != 13*payments {
			t.Errorf("%d connections opened, want one per statement", n)
		}
	})
}
