package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"assay/harness/lab/stack/dbserver"
	"assay/harness/lab/stack/dbserver/dbservertest"
	"assay/harness/lab/stack/process"
)

// database is a real server with the schema shop and users of several rights.
type database struct {
	t        *testing.T
	addr     string
	binary   string // of the server
	password string // of every user but root; a word that occurs nowhere by chance
	root     *sql.DB
}

func startDatabase(t *testing.T, flavour string) *database {
	t.Helper()
	server := dbservertest.Start(t, flavour)
	db := &database{t: t, addr: process.Address(server.Port()), binary: server.Binary().Path, password: rand.Text()}
	var err error
	if db.root, err = sql.Open("mysql", server.DSN()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.root.Close() })
	status := "REPLICATION CLIENT"
	if flavour == string(dbserver.MariaDB) {
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

// service is a script's system under test. It answers GET / and POST /cart/buy
// at once, and POST /orders once the order is committed.
type service struct {
	*httptest.Server
	db   *database
	load atomic.Int64 // requests; those for metrics are no load
}

type serviceKey struct{}

func startService(db *database) *service {
	s := &service{db: db}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /orders", s.order)
	mux.HandleFunc("POST /cart/buy", func(http.ResponseWriter, *http.Request) {}) // the README's
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			s.load.Add(1)
		}
		mux.ServeHTTP(w, r)
	}))
	return s
}

func (s *service) order(w http.ResponseWriter, r *http.Request) {
	// Not the request's context: what was committed is acknowledged.
	_, err := s.db.root.ExecContext(context.Background(), "INSERT INTO shop.orders (id, run_id) VALUES (?, ?)", r.FormValue("id"), r.FormValue("run"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

func (s *service) port() string {
	return strconv.Itoa(s.Listener.Addr().(*net.TCPAddr).Port)
}

// close does not wait for connections that a killed worker left open.
func (s *service) close() {
	s.CloseClientConnections()
	s.Server.Close()
}
