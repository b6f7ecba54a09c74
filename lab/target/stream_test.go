//go:build live

package target

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
)

// broker is a Kafka broker in this process, and a client of the test.
func broker(t *testing.T) (address string, admin *kadm.Client, end func()) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DefaultNumPartitions(3))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return c.ListenAddrs()[0], kadm.NewClient(cl), c.Close
}

func throughKafka(address string) func(*Config) {
	return func(c *Config) {
		c.Ingest, c.Kafka.Brokers, c.IngestWait, c.IngestBatch = IngestKafka, address, time.Millisecond, 20
	}
}

// Each acknowledged event has exactly one row, however often Kafka delivers it; an event
// that was sent twice has two.
func testIngestionThroughKafka(t *testing.T, server *mysqld.Server) {
	address, admin, _ := broker(t)
	s := serve(t, server, throughKafka(address))
	if groups, err := admin.DescribeGroups(t.Context(), "assay-ingest"); err != nil || len(groups["assay-ingest"].Members) != 1 {
		t.Errorf("the service is ready, but its group is %+v, %v", groups, err)
	}
	const events = 200
	send := func(i int) {
		if code, answer := s.do(t, "GET", fmt.Sprintf("/?name=hoge&value=%d&id=e-%d&run_id=run", i, i), ""); code != http.StatusAccepted || answer["id"] != fmt.Sprint("e-", i) {
			t.Errorf("event %d: %d %v", i, code, answer)
		}
	}
	atOnce(events, send)
	send(0)
	// What another producer writes is skipped.
	if err := kafkaClient(t, address).ProduceSync(t.Context(), &kgo.Record{Topic: "events", Value: []byte("{}")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	stored := func() bool { return s.count(t, "SELECT COUNT(*) FROM events") == events+1 }
	polltest.Until(t, "all are stored", stored)
	polltest.Until(t, "all are committed", func() bool { return lagOf(t, admin) == 0 })
	polltest.Until(t, "no age is reported", func() bool { return s.metric(t, "ingest_oldest_event_seconds") == 0 })
	if !strings.Contains(s.log.String(), "is no event") {
		t.Errorf("a message that is no event was not logged: %s", s.log)
	}
	if err := s.stop(); err != nil {
		t.Errorf("drain: %v", err)
	}
	// Everything is delivered again to the next service, on a database that other services
	// use without Kafka.
	if _, err := admin.DeleteGroup(t.Context(), "assay-ingest"); err != nil {
		t.Fatal(err)
	}
	again := serve(t, server, func(c *Config) { throughKafka(address)(c); c.DSN = s.dsn })
	polltest.Until(t, "all are delivered again", func() bool { return again.metric(t, "ingest_redelivered_total") == events+1 })
	direct := serve(t, server, func(c *Config) { c.DSN = s.dsn })
	if code, _ := direct.do(t, "GET", "/?name=hoge&value=0&id=e-0&run_id=run", ""); code != http.StatusOK {
		t.Errorf("without Kafka: %d", code)
	}
	for query, want := range map[string]int{
		"SELECT COUNT(*) FROM events":                                                                      events + 2,
		"SELECT COUNT(DISTINCT id) FROM events":                                                            events,
		"SELECT COUNT(*) FROM events WHERE id = 'e-0'":                                                     3,
		"SELECT COUNT(*) FROM events WHERE id <> CONCAT('e-', value)":                                      0,
		"SELECT COUNT(*) FROM events WHERE ABS(TIMESTAMPDIFF(SECOND, persisted_at, UTC_TIMESTAMP())) > 60": 0,
	} {
		if got := s.count(t, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}

// While the database stalls, events are acknowledged, and the group's offsets stay behind:
// they are committed only after the rows are stored. A drain stores the rest.
func testStallBehindKafka(t *testing.T, server *mysqld.Server) {
	address, admin, end := broker(t)
	s := serve(t, server, throughKafka(address))
	hold, err := s.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	if _, err := hold.ExecContext(t.Context(), "LOCK TABLES events WRITE"); err != nil {
		t.Fatal(err)
	}
	const events = 30
	for i := range events {
		if code, _ := s.do(t, "GET", fmt.Sprintf("/?name=hoge&value=1&id=e-%d&run_id=run", i), ""); code != http.StatusAccepted {
			t.Fatalf("event %d: %d", i, code)
		}
	}
	if lag := lagOf(t, admin); lag != events {
		t.Errorf("%d of %d messages are not committed", lag, events)
	}
	polltest.Until(t, "the age grows", func() bool { return s.metric(t, "ingest_oldest_event_seconds") > 0.5 })
	if _, err := hold.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
	if err := s.stop(); err != nil {
		t.Errorf("drain: %v", err)
	}
	if n := s.count(t, "SELECT COUNT(*) FROM events"); n != events {
		t.Errorf("%d events after a drain, want %d", n, events)
	}
	if lag := lagOf(t, admin); lag != 0 {
		t.Errorf("%d messages are not committed after a drain", lag)
	}
	// Without a broker nothing is acknowledged, and nothing hangs.
	alone := serve(t, server, func(c *Config) { throughKafka(address)(c); c.RequestTimeout = time.Second })
	end()
	if code, answer := alone.do(t, "GET", "/?name=hoge&value=1&id=lost", ""); code != http.StatusServiceUnavailable {
		t.Errorf("without a broker: %d %v", code, answer)
	}
}

func kafkaClient(t *testing.T, address string) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// lagOf is the number of messages of the topic that the group has not committed.
func lagOf(t *testing.T, admin *kadm.Client) int64 {
	t.Helper()
	lags, err := admin.Lag(t.Context(), "assay-ingest")
	if err != nil {
		t.Fatal(err)
	}
	if err := lags.Error(); err != nil {
		t.Fatal(err)
	}
	return lags["assay-ingest"].Lag.Total()
}

// Services share the topic. One that ends without a drain loses nothing: what it had read is
// delivered to the other, and stored once.
func testServicesShareATopic(t *testing.T, server *mysqld.Server) {
	address, admin, _ := broker(t)
	few := func(c *Config) { throughKafka(address)(c); c.IngestBatch, c.Drain = 2, false }
	first := serve(t, server, few)
	mysqldtest.Exec(t, first.db, "CREATE TRIGGER slow BEFORE INSERT ON events FOR EACH ROW DO SLEEP(0.02)")
	second := serve(t, server, func(c *Config) { few(c); c.DSN = first.dsn })
	const events = 100
	atOnce(events, func(i int) {
		s := []*service{first, second}[i%2]
		if code, answer := s.do(t, "GET", fmt.Sprintf("/?name=hoge&value=%d&id=e-%d&run_id=run", i, i), ""); code != http.StatusAccepted {
			t.Errorf("event %d: %d %v", i, code, answer)
		}
	})
	if err := first.stop(); err != nil {
		t.Error(err)
	}
	if n := second.count(t, "SELECT COUNT(*) FROM events"); n == events {
		t.Log("all were stored before the first service ended")
	}
	polltest.Until(t, "all are stored", func() bool { return second.count(t, "SELECT COUNT(*) FROM events") >= events })
	polltest.Until(t, "all are committed", func() bool { return lagOf(t, admin) == 0 })
	if all, ids := second.count(t, "SELECT COUNT(*) FROM events"), second.count(t, "SELECT COUNT(DISTINCT id) FROM events"); all != events || ids != events {
		t.Errorf("%d rows, %d events, want %d", all, ids, events)
	}
}

func TestKafka(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.15)
	server := mysqldtest.StartInMemory(t, "mariadb")
	t.Run("stall", func(t *testing.T) { testStallBehindKafka(t, server) })
	t.Run("two services", func(t *testing.T) { testServicesShareATopic(t, server) })
}
