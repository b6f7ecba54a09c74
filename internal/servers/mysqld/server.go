package mysqld

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/servers/statefile"
)

// Server is a running database server.
type Server struct {
	layout   layout
	binary   Binary
	port     int
	password string
	child    *process.Child
}

// stopTimeout is how long a server may take to shut down cleanly before it is
// killed; it takes about a second unless it has many dirty pages to write.
const stopTimeout = 30 * time.Second

// Attach returns the server that runs on dir, whoever started it. The error
// wraps os.ErrNotExist if none runs there.
func Attach(dir string) (*Server, error) {
	l, err := at(dir)
	if err != nil {
		return nil, err
	}
	var (
		a account
		r running
	)
	if err := errors.Join(statefile.Read(l.account(), &a), statefile.Read(l.running(), &r)); err != nil {
		return nil, fmt.Errorf("attach to server: %w", err)
	}
	if !r.Process.Alive() {
		return nil, fmt.Errorf("attach to server in %s: %w", dir, os.ErrNotExist)
	}
	mask.Add(a.Password)
	return &Server{layout: l, binary: r.Binary, port: r.Port, password: a.Password, child: process.Attach(r.Process)}, nil
}

// DSN is root's, over TCP, without a database, as go-sql-driver/mysql reads it.
func (s *Server) DSN() string { return s.config().FormatDSN() }

func (s *Server) config() *mysql.Config {
	c := mysql.NewConfig()
	c.User, c.Passwd = "root", s.password
	c.Net, c.Addr = "tcp", process.Address(s.port)
	return c
}

// connector logs nothing: a server that is starting, or cut off, drops connections.
func (s *Server) connector() (driver.Connector, error) {
	c := s.config()
	c.Logger = &mysql.NopLogger{}
	return mysql.NewConnector(c)
}

// Open opens the server as root; it connects when it is used.
func (s *Server) Open() (*sql.DB, error) {
	connector, err := s.connector()
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// Port is the TCP port on 127.0.0.1.
func (s *Server) Port() int { return s.port }

// Pid is the process id of the server.
func (s *Server) Pid() int { return s.child.PID }

// Identity identifies the process of the server.
func (s *Server) Identity() process.Identity { return s.child.Identity }

// Binary is the program that runs.
func (s *Server) Binary() Binary { return s.binary }

// LogFile is where a server on dir writes its errors.
func LogFile(dir string) string { return layout{dir}.log() }

// Alive reports whether the process still runs.
func (s *Server) Alive() bool { return s.child.Alive() }

// Ping fails unless the server accepts a connection.
func (s *Server) Ping(ctx context.Context) error {
	connector, err := s.connector()
	if err != nil {
		return err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Stop shuts the server down and returns when the process has ended, with an error
// if it had to be killed. It may be called again.
func (s *Server) Stop() error { return s.ended(s.child.Stop(stopTimeout)) }

// Kill ends the server as a crash does (kill -9) and returns when it has ended.
func (s *Server) Kill() error { return s.ended(s.child.Kill()) }

// ended removes the file of the running server; data, log and password stay.
func (s *Server) ended(err error) error {
	if err != nil {
		err = fmt.Errorf("stop database server: %w", err)
	}
	if !s.child.Alive() {
		if gone := os.Remove(s.layout.running()); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}
