//go:build live

package target

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/polltest"
)

func testIngestion(t *testing.T, server *mysqld.Server) {
	for ingest, code := range map[Ingest]int{IngestDirect: 200, IngestBulk: 200, IngestChannel: 202} {
		t.Run(string(ingest), func(t *testing.T) {
			s := serve(t, server, func(c *Config) {
				// A batch is full with the eight events that are sent at a time.
				c.Ingest, c.IngestBatch, c.IngestWait = ingest, 8, time.Second
			})
			testIngest(t, s, ingest, code)
		})
	}
	t.Run("stalled database", func(t *testing.T) { testStalledDatabase(t, server) })
	t.Run("without a drain", func(t *testing.T) { testNoDrain(t, server) })
}

// Once the service has drained, each acknowledged event has exactly one row.
func testIngest(t *testing.T, s *service, ingest Ingest, want int) {
	const events = 200
	grew := s.during(t, func() {
		atOnce(events, func(i int) {
			var code int
			var answer map[string]any
			if i%2 == 0 {
				code, answer = s.do(t, "GET", fmt.Sprintf("/?name=hoge&value=%d&id=e-%d&run_id=run", i, i), "")
			} else {
				code, answer = s.do(t, "POST", "/events", fmt.Sprintf(`{"id":"e-%d","run_id":"run","name":"hoge","value":%d}`, i, i))
			}
			if code != want || answer["id"] != fmt.Sprint("e-", i) {
				t.Errorf("event %d: %d %v", i, code, answer)
			}
		})
		// An event stored twice has two rows, which the ledger must find.
		s.do(t, "GET", "/?name=hoge&value=0&id=e-0&run_id=run", "")
		if err := s.stop(); err != nil {
			t.Errorf("drain: %v", err)
		}
	})
	t.Logf("%d events: %v", events, grew)
	for query, want := range map[string]int{
		"SELECT COUNT(*) FROM events WHERE run_id = 'run'":                                                 events + 1,
		"SELECT COUNT(DISTINCT id) FROM events":                                                            events,
		"SELECT COUNT(*) FROM events WHERE id = 'e-0'":                                                     2,
		"SELECT COUNT(*) FROM events WHERE id <> CONCAT('e-', value)":                                      0,
		"SELECT COUNT(*) FROM events WHERE ABS(TIMESTAMPDIFF(SECOND, persisted_at, UTC_TIMESTAMP())) > 60": 0,
	} {
		if got := s.count(t, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	switch n := grew["Com_insert"]; {
	case ingest == IngestDirect && n != events+1:
		t.Errorf("%d INSERT, want one per event", n)
	case ingest != IngestDirect && n > events/2:
		t.Errorf("%d INSERT for %d events, want several events each", n, events)
	}
}

// In channel mode responses do not depend on the database: while it stalls, events are
// acknowledged and queued, and persisted_at shows how late they were stored.
func testStalledDatabase(t *testing.T, server *mysqld.Server) {
	s := serve(t, server, func(c *Config) { c.Ingest, c.IngestBatch = IngestChannel, 1 })
	hold, err := s.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	if _, err := hold.ExecContext(t.Context(), "LOCK TABLES events WRITE"); err != nil {
		t.Fatal(err)
	}
	const events = 20
	for i := range events {
		if code, _ := s.do(t, "GET", fmt.Sprintf("/?name=hoge&value=1&id=e-%d&run_id=run", i), ""); code != http.StatusAccepted {
			t.Fatalf("event %d: %d", i, code)
		}
	}
	if n := s.metric(t, "ingest_events_in_memory"); n != events {
		t.Errorf("%v events in memory, want %d", n, events)
	}
	var resumed time.Time
	if err := hold.QueryRowContext(t.Context(), "SELECT UTC_TIMESTAMP(6)").Scan(&resumed); err != nil {
		t.Fatal(err)
	}
	if _, err := hold.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, "all are stored", func() bool { return s.count(t, "SELECT COUNT(*) FROM events") == events })
	// All but those whose statement had started before.
	if n := s.count(t, "SELECT COUNT(*) FROM events WHERE persisted_at >= ?", resumed); n < events-insertWriters {
		t.Errorf("%d of %d events have a persisted_at after the end of the stall", n, events)
	}
}

// Without a drain, acknowledged events in the queue are lost, which is logged.
func testNoDrain(t *testing.T, server *mysqld.Server) {
	s := serve(t, server, func(c *Config) {
		c.Ingest, c.IngestWait, c.Drain = IngestChannel, time.Second, false
	})
	for i := range 10 {
		if code, answer := s.do(t, "GET", fmt.Sprintf("/?name=hoge&value=1&id=e-%d", i), ""); code != http.StatusAccepted {
			t.Fatalf("event: %d %v", code, answer)
		}
	}
	if err := s.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	stored := s.count(t, "SELECT COUNT(*) FROM events") // none, unless sending took longer than the wait
	if lost := 10 - stored; lost == 0 || !strings.Contains(s.log.String(), fmt.Sprint("events=", lost)) {
		t.Errorf("%d events are stored, and the loss was not logged: %s", stored, s.log)
	}
}
