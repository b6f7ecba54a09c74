package main

import (
	"context"
	crand "crypto/rand"
	"database/sql"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay/harness/servers/mysqld"
	"assay/harness/servers/mysqld/mysqldtest"
	"assay/harness/servers/process"
)

// database is a real server with the schema shop and users of several rights.
type database struct {
	t        *testing.T
	addr     string
	binary   string // of the server
	password string // of every user but root; a word that occurs nowhere by chance
	root     *sql.DB
	pool     *sql.DB     // of the scripts' services
	insert   string      // an order, by id and run
	vacate   func()      // gives back the connections that a script has taken
	held     []*sql.Conn // by leave
}

// poolSize is how many connections scripts' services have at most, and keep.
const poolSize = 8

func startDatabase(t *testing.T, flavour string) *database {
	t.Helper()
	server := mysqldtest.Start(t, flavour)
	db := &database{
		t: t, addr: process.Address(server.Port()), binary: server.Binary().Path, password: crand.Text(),
		insert: "INSERT INTO shop.orders (id, run_id) VALUES (?, ?)",
	}
	var err error
	if db.root, err = sql.Open("mysql", server.DSN()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.root.Close() })
	if db.pool, err = sql.Open("mysql", server.DSN()); err != nil {
		t.Fatal(err)
	}
	db.pool.SetMaxOpenConns(poolSize)
	db.pool.SetMaxIdleConns(poolSize)
	t.Cleanup(func() { _ = db.pool.Close() })
	status := "REPLICATION CLIENT"
	if flavour == string(mysqld.MariaDB) {
		status = "BINLOG MONITOR"
	}
	statements := []string{
		"CREATE DATABASE shop",
		"CREATE TABLE shop.orders (id VARCHAR(120) PRIMARY KEY, run_id VARCHAR(80), persisted_at DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3))",
		"CREATE TABLE shop.other (id INT PRIMARY KEY)",
	}
	for _, user := range []string{"certifier", "blind", "auditor", "reader", "keeper"} {
		statements = append(statements, "CREATE USER '"+user+"'@'127.0.0.1' IDENTIFIED BY '"+db.password+"'")
	}
	for _, user := range []string{"certifier", "auditor"} {
		statements = append(
			statements,
			"GRANT PROCESS, "+status+" ON *.* TO '"+user+"'@'127.0.0.1'",
			"GRANT SELECT, UPDATE ON performance_schema.* TO '"+user+"'@'127.0.0.1'",
		)
	}
	statements = append(
		statements,
		"GRANT SELECT, DELETE ON shop.* TO 'certifier'@'127.0.0.1'",
		"GRANT SELECT, DELETE ON service.* TO 'certifier'@'127.0.0.1'",
		"GRANT SELECT, DELETE ON shop.* TO 'blind'@'127.0.0.1'",
		"GRANT SELECT ON shop.other TO 'auditor'@'127.0.0.1'",
		"GRANT SELECT ON shop.* TO 'reader'@'127.0.0.1'",
		"GRANT ALL ON service.* TO 'keeper'@'127.0.0.1'",
	)
	for _, s := range statements {
		if _, err := db.root.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return db
}

// dsn is a user's, of the schema shop; the keeper's of his own.
func (d *database) dsn(user, password string) string {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = user, password, "tcp", d.addr, "shop"
	if user == "keeper" {
		c.DBName = "service"
	}
	return c.FormatDSN()
}

// leave takes connections, and limits the server so that so many are left. No
// other script may use such a server.
func (d *database) leave(n int) error {
	ctx := context.Background()
	for len(d.held) < 12 { // the least limit that both flavours take is 10
		conn, err := d.root.Conn(ctx)
		if err != nil {
			return err
		}
		d.t.Cleanup(func() { _ = conn.Close() })
		d.held = append(d.held, conn)
	}
	// Connections of a command that has just ended are not gone at once.
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var name string
		var connected int
		if err := d.held[0].QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Threads_connected'").Scan(&name, &connected); err != nil {
			return err
		}
		if connected == len(d.held) {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d connections instead of %d", connected, len(d.held))
		}
	}
	_, err := d.held[0].ExecContext(ctx, "SET GLOBAL max_connections = "+strconv.Itoa(len(d.held)+n))
	return err
}

// service is a script's system under test. It answers GET / and POST /cart/buy
// by think, POST /orders once the order is committed, and GET /queue when it is
// its turn.
type service struct {
	*httptest.Server
	secure *httptest.Server // the same by TLS, with a certificate of an authority that nobody knows
	db     *database
	load   atomic.Int64 // requests; those for metrics are no load
}

type (
	serviceKey  struct{}
	databaseKey struct{}
)

func startService(db *database) *service {
	s := &service{db: db}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", think)
	mux.HandleFunc("POST /orders", s.order)
	mux.HandleFunc("GET /queue", new(queue).serve)
	mux.HandleFunc("POST /cart/buy", think) // the README's
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			s.load.Add(1)
		}
		mux.ServeHTTP(w, r)
	}))
	s.secure = httptest.NewUnstartedServer(s.Config.Handler)
	s.secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that fail
	s.secure.StartTLS()
	return s
}

// think takes 40 ms on average, by chance. Of answers given at once the slowest
// would be those of the machine's busy moments: with latencies in such bursts few
// samples decide nothing.
func think(http.ResponseWriter, *http.Request) {
	time.Sleep(min(time.Second, time.Duration(rand.ExpFloat64()*float64(40*time.Millisecond))))
}

func (s *service) order(w http.ResponseWriter, r *http.Request) {
	think(w, r)
	// Not the request's context: what was committed is acknowledged.
	_, err := s.db.pool.ExecContext(context.Background(), s.db.insert, r.FormValue("id"), r.FormValue("run"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

// Of the queue: one request after the other, so that its capacity is 200 a second
// exactly, however late its sleeps end. It takes none that would wait too long,
// and is soon empty again after an overload.
const (
	queueService = 5 * time.Millisecond
	queueLongest = time.Second
)

type queue struct {
	mu   sync.Mutex
	free time.Time // when the last request that was taken is done
}

func (q *queue) serve(w http.ResponseWriter, _ *http.Request) {
	q.mu.Lock()
	now := time.Now()
	if q.free.Before(now) {
		q.free = now
	}
	if q.free.Sub(now) > queueLongest {
		q.mu.Unlock()
		http.Error(w, "the queue is full", http.StatusServiceUnavailable)
		return
	}
	q.free = q.free.Add(queueService)
	turn := q.free
	q.mu.Unlock()
	time.Sleep(time.Until(turn))
}

// authority is the certificate that the service's own is trusted with.
func (s *service) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.secure.Certificate().Raw})
}

func (s *service) port() string {
	return strconv.Itoa(s.Listener.Addr().(*net.TCPAddr).Port)
}

// close does not wait for connections that a killed worker left open.
func (s *service) close() {
	for _, server := range []*httptest.Server{s.Server, s.secure} {
		server.CloseClientConnections()
		server.Close()
	}
}
