//go:build live

package main

import (
	"compress/gzip"
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
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// database is a real server with the schema shop and users of several rights.
type database struct {
	t        *testing.T
	addr     string
	binary   string // path of the server's executable
	password string // password of every user but root; too random to occur by chance
	root     *sql.DB
	pool     *sql.DB     // used by the scripts' services
	insert   string      // inserts an order: id, run id
	release  func()      // ends take-connections
	held     []*sql.Conn // by leave-connections
}

// poolSize is how many connections the scripts' services may open, and keep open.
const poolSize = 8

func startDatabase(t *testing.T, flavour string) *database {
	t.Helper()
	server := mysqldtest.StartInMemory(t, flavour)
	db := &database{
		t: t, addr: process.Address(server.Port()), binary: server.Binary().Path, password: crand.Text(),
		insert: "INSERT INTO shop.orders (id, run_id) VALUES (?, ?)",
		root:   mysqldtest.Open(t, server.DSN()), pool: mysqldtest.Open(t, server.DSN()),
	}
	db.pool.SetMaxOpenConns(poolSize)
	db.pool.SetMaxIdleConns(poolSize)
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
	awkward := strings.NewReplacer(`\`, `\\`, "'", "''").Replace(awkwardPassword)
	statements = append(statements, "CREATE USER 'awkward'@'127.0.0.1' IDENTIFIED BY '"+awkward+"'")
	for _, user := range []string{"certifier", "auditor", "awkward"} {
		statements = append(
			statements,
			"GRANT PROCESS, "+status+" ON *.* TO '"+user+"'@'127.0.0.1'",
			"GRANT SELECT, UPDATE ON performance_schema.* TO '"+user+"'@'127.0.0.1'",
			"GRANT INSERT, DELETE ON performance_schema.setup_objects TO '"+user+"'@'127.0.0.1'",
		)
	}
	statements = append(
		statements,
		"GRANT SELECT, DELETE ON shop.* TO 'certifier'@'127.0.0.1'",
		"GRANT SELECT, DELETE ON shop.* TO 'awkward'@'127.0.0.1'",
		"GRANT SELECT, DELETE ON service.* TO 'certifier'@'127.0.0.1'",
		"GRANT INSERT ON shop.other TO 'certifier'@'127.0.0.1'",
		"GRANT SELECT, DELETE ON shop.* TO 'blind'@'127.0.0.1'",
		"GRANT SELECT ON shop.other TO 'auditor'@'127.0.0.1'",
		"GRANT SELECT ON shop.* TO 'reader'@'127.0.0.1'",
		"GRANT ALL ON service.* TO 'keeper'@'127.0.0.1'",
	)
	mysqldtest.Exec(t, db.root, statements...)
	return db
}

// dsn returns the DSN of a user for the schema shop; for keeper, for the schema service.
func (d *database) dsn(user, password string) string {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = user, password, "tcp", d.addr, "shop"
	if user == "keeper" {
		c.DBName = "service"
	}
	return c.FormatDSN()
}

// leaveConnections holds connections, and lowers the server's limit so that n are left.
// No other script may use the server.
func (d *database) leaveConnections(n int) error {
	ctx := context.Background()
	for len(d.held) < 12 { // both flavours accept a limit of 10 or more
		conn, err := d.root.Conn(ctx)
		if err != nil {
			return err
		}
		d.t.Cleanup(func() { _ = conn.Close() })
		d.held = append(d.held, conn)
	}
	// The server closes the connections of a finished command only after a moment.
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

// service is a script's system under test. GET / and POST /cart/buy take a random time
// (think), POST /orders also inserts an order, and GET /queue has a fixed capacity.
type service struct {
	*httptest.Server
	secure *httptest.Server // the same by TLS, with a certificate of an unknown authority
	db     *database
	load   atomic.Int64 // requests received, except those for metrics
}

type serviceKey struct{}

func startService(db *database) *service {
	s := &service{db: db}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", think)
	mux.HandleFunc("POST /orders", s.order)
	mux.HandleFunc("GET /queue", new(queue).serve)
	mux.HandleFunc("GET /slow", func(http.ResponseWriter, *http.Request) { time.Sleep(500 * time.Millisecond) })
	mux.HandleFunc("POST /cart/buy", think) // route of the script in docs/service.md
	for name, exposition := range hostile {
		mux.HandleFunc("GET /hostile/"+name+"/{$}", think)
		mux.HandleFunc("GET /hostile/"+name+"/metrics", exposition)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			s.load.Add(1)
		}
		mux.ServeHTTP(w, r)
	}))
	s.secure = httptest.NewUnstartedServer(s.Config.Handler)
	s.secure.Config.ErrorLog = log.New(io.Discard, "", 0) // failed handshakes
	s.secure.StartTLS()
	return s
}

// hostile are metrics that no service should expose, each of a target of its own.
var hostile = map[string]http.HandlerFunc{
	// The library's parser panics.
	"malformed": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "# TYPE http_request_duration_seconds gauge\n{\"http_request_duration_seconds\"=\"a\"}1\n")
	},
	// A few kB of a gigabyte.
	"bomb": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		line := []byte("http_request_duration_seconds_sum 1\n")
		for range 1 << 18 {
			if _, err := z.Write(line); err != nil {
				return
			}
		}
		_ = z.Close()
	},
	"endless": func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "go_sql_open_connections 1\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(50 * time.Millisecond)
		}
	},
}

// think takes an exponentially distributed time, 40 ms on average. If it returned at
// once, the slowest responses would be bursts from the machine's busy moments, and few
// samples so correlated decide no SLO.
func think(http.ResponseWriter, *http.Request) {
	time.Sleep(min(time.Second, time.Duration(rand.ExpFloat64()*float64(40*time.Millisecond))))
}

func (s *service) order(w http.ResponseWriter, r *http.Request) {
	think(w, r)
	// Not the request's context: a committed order must be acknowledged.
	_, err := s.db.pool.ExecContext(context.Background(), s.db.insert, r.FormValue("id"), r.FormValue("run"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

const (
	queueServiceTime = 5 * time.Millisecond
	queueMaxWait     = time.Second
)

// queue serves one request at a time: its capacity is exactly 200/s, however late its
// sleeps end. It rejects requests that would wait longer than queueMaxWait, so that it
// is soon empty again after an overload.
type queue struct {
	mu   sync.Mutex
	free time.Time // when the last accepted request is done
}

func (q *queue) serve(w http.ResponseWriter, _ *http.Request) {
	q.mu.Lock()
	now := time.Now()
	if q.free.Before(now) {
		q.free = now
	}
	if q.free.Sub(now) > queueMaxWait {
		q.mu.Unlock()
		http.Error(w, "the queue is full", http.StatusServiceUnavailable)
		return
	}
	q.free = q.free.Add(queueServiceTime)
	done := q.free
	q.mu.Unlock()
	time.Sleep(time.Until(done))
}

// authority is the PEM certificate to trust the service's TLS certificate with.
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
