package stack

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/servers/statefile"
)

// State is the content of the state file: processes, ports and passwords.
type State struct {
	Database Database `json:"database"`          // node a
	Cluster  *Cluster `json:"cluster,omitempty"` // nil if the database is down
	Influx   Influx   `json:"influx"`
	Target   Target   `json:"target"`
	Users    Users    `json:"users"`
}

// Database is the database server of a stack; zero if it is down.
type Database struct {
	Process process.Identity `json:"process"`
	Port    int              `json:"port"`
	Binary  mysqld.Binary    `json:"binary"`
	Args    []string         `json:"args,omitempty"` // additional options
	Ready   bool             `json:"ready"`          // schema and users exist
}

// Target is the reference service of a stack; zero if it is down.
type Target struct {
	Process process.Identity `json:"process"`
	Port    int              `json:"port"`
	Args    []string         `json:"args"`
}

// Influx is the InfluxDB of a stack. Its process is zero if it is down; the rest is kept
// for the next start.
type Influx struct {
	Process  process.Identity `json:"process"`
	Port     int              `json:"port"`
	Binary   string           `json:"binary"`
	Password Secret           `json:"password"`
}

// Schema is the database of the reference service.
const Schema = "assay"

// Users are the accounts of the database. Like the data, they outlive the processes.
type Users struct {
	Service User `json:"service"` // user of the reference service: all privileges on its schema
	// Collector is the user of the collector, which reads waits and the ledger and turns
	// instruments on, and of scenarios, which write their tables.
	Collector   User `json:"collector"`
	Replication User `json:"replication"` // user of the database nodes, for replication between them
}

// User is an account for connections from the loopback address.
type User struct {
	Name     string `json:"name"`
	Password Secret `json:"password"`
}

func newState() *State {
	return &State{Users: Users{
		Service:     User{"assay_service", Secret(rand.Text())},
		Collector:   User{"assay_collector", Secret(rand.Text())},
		Replication: User{"assay_replication", Secret(rand.Text())},
	}}
}

// ServiceDSN is the reference service's DSN: of HAProxy's single writer, or else of node
// a. It is a secret.
func (s *State) ServiceDSN() string {
	if s.Cluster != nil && s.Cluster.Proxy != nil {
		return dsn(s.Users.Service, s.Cluster.Proxy.Writer)
	}
	return dsn(s.Users.Service, s.Database.Port)
}

// CollectorDSN is the DSN of `assay certify`, for ASSAY_DB, of node a. It is a secret.
func (s *State) CollectorDSN() string { return dsn(s.Users.Collector, s.Database.Port) }

// NodesDSN is the collector's DSN of each database node that can be queried, and of
// HAProxy's listeners where it runs: "a=DSN b=DSN proxy=DSN proxy-both=DSN". It is a
// secret.
func (s *State) NodesDSN() string {
	if s.Cluster == nil {
		return ""
	}
	var all []string
	add := func(name string, port int) { all = append(all, name+"="+dsn(s.Users.Collector, port)) }
	for _, n := range s.Cluster.Nodes {
		if !n.Arbitrator {
			add(n.Name, n.Port)
		}
	}
	if p := s.Cluster.Proxy; p != nil {
		add("proxy", p.Writer)
		add("proxy-both", p.Both)
	}
	return strings.Join(all, " ")
}

func dsn(u User, port int) string {
	c := mysql.NewConfig()
	c.User, c.Passwd = u.Name, u.Password.reveal()
	c.Net, c.Addr, c.DBName = "tcp", process.Address(port), Schema
	c.ParseTime = true
	return c.FormatDSN()
}

// LogValue leaves the users out, which a JSON handler would write in clear.
func (s *State) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("database", s.Database), slog.Any("influx", s.Influx.Port), slog.Any("target", s.Target))
}

// LogValue leaves the password out.
func (u User) LogValue() slog.Value { return slog.StringValue(u.Name) }

// LogValue leaves the passwords out.
func (u Users) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("service", u.Service), slog.Any("collector", u.Collector), slog.Any("replication", u.Replication))
}

// TargetURL is the base URL of the reference service.
func (s *State) TargetURL() string { return "http://" + process.Address(s.Target.Port) }

// load reads the state; nil if there was no stack yet.
func (f folder) load() (*State, error) {
	var s State
	err := statefile.Read(f.state(), &s)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load stack state: %w", err)
	}
	return &s, nil
}

func (f folder) save(s *State) error {
	if err := statefile.Write(f.state(), s); err != nil {
		return fmt.Errorf("save stack state: %w", err)
	}
	return nil
}

// Secret is a password. It appears in no log line and no error; only the state
// file, which no other user may read, holds it in clear.
type Secret string

// String hides it from fmt.
func (Secret) String() string { return "***" }

// GoString hides it from %#v.
func (Secret) GoString() string { return "***" }

// LogValue hides it from slog.
func (Secret) LogValue() slog.Value { return slog.StringValue("***") }

func (s Secret) reveal() string {
	mask.Add(string(s))
	return string(s)
}
