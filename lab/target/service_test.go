//go:build live

package target

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/lab/target/gateway"
)

// TestService runs the tests that need a database on one server of each flavour, one after
// the other: many compare the server's counters.
func TestService(t *testing.T) {
	t.Parallel()
	type test struct {
		name string
		run  func(*testing.T, *mysqld.Server)
	}
	each := []test{
		{"payments", testPayments}, {"outcomes", testOutcomes}, {"workers share", testWorkersShare}, {"ingestion", testIngestion},
	}
	tests := map[string][]test{
		"mysql": append(each[:len(each):len(each)], test{"through Kafka", testIngestionThroughKafka}),
		"mariadb": append(each[:len(each):len(each)],
			test{"pool", testPool}, test{"few accounts", testFewAccounts}, test{"gateway", testGatewayOverHTTP}, test{"request log", testRequestsAreLogged},
			test{"unanswered", testUnanswered}, test{"workers stop", testWorkersStop}),
	}
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		budget.CPUs(t, 0.6)
		server := mysqldtest.StartInMemory(t, flavour)
		for _, c := range tests[flavour] {
			t.Run(c.name, func(t *testing.T) { c.run(t, server) })
		}
	})
}

// TestCapacity runs the tests of a service with limited capacity, which mostly wait.
func TestCapacity(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.25)
	server := mysqldtest.StartInMemory(t, "mariadb")
	t.Run("growth", func(t *testing.T) { testServiceThatNeedsTimeToGrow(t, server) })
	t.Run("limit", func(t *testing.T) { testCapacityIsALimit(t, server) })
	t.Run("none", func(t *testing.T) { testWorkWithoutALimit(t, server) })
}

// service is a running target with its own database.
type service struct {
	base   string
	dsn    string  // DSN of the service's database
	db     *sql.DB // the test's own connection
	log    *lockedBuffer
	client *http.Client
	stop   func() error // once; returns what Run returned
}

var databases atomic.Int64

// serve runs the service until the test ends, or until stop.
func serve(t *testing.T, server *mysqld.Server, change func(*Config)) *service {
	t.Helper()
	dsn, err := mysql.ParseDSN(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	dsn.DBName = fmt.Sprintf("target_%d", databases.Add(1)) // made by the service
	dsn.ParseTime = true
	c := DefaultConfig()
	c.Listen, c.DSN = "127.0.0.1:0", dsn.FormatDSN()
	// No workers, so that tests count the statements of requests only; and all gateways
	// confirm.
	c.Gateway.Declines, c.Gateway.Timeouts = gateway.PerMode{}, gateway.PerMode{}
	c.Reconcile.On, c.Notify.On = false, false
	change(&c)

	ctx, cancel := context.WithCancel(t.Context())
	s := &service{dsn: c.DSN, log: &lockedBuffer{}, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- Run(ctx, c, slog.New(slog.NewTextHandler(s.log, nil)), func(addr string) { ready <- addr })
	}()
	s.stop = sync.OnceValue(func() error {
		s.client.CloseIdleConnections()
		cancel()
		return <-ended
	})
	select {
	case addr := <-ready:
		s.base = "http://" + addr
	case err := <-ended:
		t.Fatalf("run: %v", err)
	}
	if s.db, err = sql.Open("mysql", c.DSN); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		s.db.Close()
	})
	return s
}

// do sends a request and decodes the response, one JSON object in one line.
func (s *service) do(t *testing.T, method, path, body string) (code int, answer map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
		return 0, nil
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
	if err := json.Unmarshal(b, &answer); err != nil || bytes.Count(b, []byte("\n")) != 1 {
		t.Errorf("%s %s: answer %q is not one line of JSON", method, path, b)
	}
	return res.StatusCode, answer
}

// second is another service on the same database, with every worker on.
func (s *service) second(t *testing.T, server *mysqld.Server, change func(*Config)) *service {
	t.Helper()
	return serve(t, server, func(c *Config) {
		c.DSN = s.dsn
		c.Reconcile.On, c.Reconcile.After, c.Reconcile.Every = true, 0, 10*time.Millisecond
		c.Notify.On, c.Notify.Every = true, 10*time.Millisecond
		change(c)
	})
}

// pay makes a payment whose idempotency key is its id.
func (s *service) pay(t *testing.T, id string) (code int, answer map[string]any) {
	t.Helper()
	return s.do(t, "POST", "/payments", paymentBody(id, id, "wallet", 100+len(id)))
}

func paymentBody(id, key, mode string, amount int) string {
	return fmt.Sprintf(`{"id":%q,"run_id":"run","idempotency_key":%q,"mode":%q,"amount":%d,"account":%d}`,
		id, key, mode, amount, 1+len(id)*997%Accounts)
}

// metric reads one sample of /metrics, such as `go_sql_wait_count_total{db_name="target"}`.
func (s *service) metric(t *testing.T, sample string) float64 {
	t.Helper()
	f, found := s.lookup(t, sample)
	if !found {
		t.Fatalf("no %s in /metrics", sample)
	}
	return f
}

func (s *service) lookup(t *testing.T, sample string) (f float64, found bool) {
	t.Helper()
	res, err := s.client.Get(s.base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if value, found := strings.CutPrefix(line, sample+" "); found {
			f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return f, true
		}
	}
	return 0, false
}

// count runs a query that returns one number.
func (s *service) count(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	if err := s.db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// status reads the server's counters. transactions are those ended by COMMIT or
// auto-commit; Handler_commit would also count every statement inside a transaction.
func (s *service) status(t *testing.T) map[string]int {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), `SHOW GLOBAL STATUS WHERE Variable_name IN
		('Com_insert', 'Com_update', 'Com_delete', 'Com_commit', 'Binlog_commits', 'Connections', 'Aborted_clients')`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	got := map[string]int{}
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		got[name] = n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if written, found := got["Binlog_commits"]; found { // MariaDB
		got["transactions"] = written
	} else { // MySQL; it counts an auto-committed SELECT as one, too
		got["transactions"] = s.count(t, "SELECT COUNT_READ_WRITE FROM performance_schema.events_transactions_summary_global_by_event_name")
	}
	return got
}

// during returns the growth of the server's counters while do runs. The counters of a
// connection that is ending are missing for a moment: neither its own nor yet the server's.
func (s *service) during(t *testing.T, do func()) map[string]int {
	t.Helper()
	before := s.status(t)
	do()
	after := s.status(t)
	polltest.Until(t, "the counters rest", func() bool {
		earlier := after["Com_insert"]
		after = s.status(t)
		return after["Com_insert"] == earlier
	})
	for name := range after {
		after[name] -= before[name]
	}
	return after
}

// atOnce runs do for 0 to n-1, eight at a time.
func atOnce(n int, do func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, 8) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	workers.Wait()
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
