package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/procfs"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/servers/process"
)

const (
	loadArg    = "load-database"
	loadDSNEnv = "ASSAY_BENCH_DSN" // not an argument, as it holds a password

	// The load: 32 sessions of single-row updates, each its own transaction, which makes
	// commits the bottleneck.
	loadSessions = 32
	loadRows     = 10_000
	loadSchema   = "bench"
)

// loadDatabase updates single rows in many sessions, each update a transaction, until
// an update fails or the process is killed.
func loadDatabase() error {
	db, err := sql.Open("mysql", os.Getenv(loadDSNEnv))
	if err != nil {
		return err
	}
	db.SetMaxIdleConns(loadSessions)
	failed := make(chan error, loadSessions)
	for range loadSessions {
		go func() {
			for {
				if _, err := db.Exec(fmt.Sprintf("UPDATE item SET n = n + 1 WHERE id = %d", rand.IntN(loadRows))); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return fmt.Errorf("update: %w", <-failed)
}

// database is a server under the load of another process.
type database struct {
	server *mysqld.Server
	db     *sql.DB // of root
	load   *process.Child
}

// startDatabase starts the server, fills its table and starts the load.
func startDatabase(ctx context.Context, dir, program string) (d *database, err error) {
	binary, err := mysqld.Probe(program)
	if err != nil {
		return nil, err
	}
	d = &database{}
	if d.server, err = mysqld.Start(ctx, mysqld.Options{Dir: filepath.Join(dir, string(binary.Flavour)), Binary: binary}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.stop())
		}
	}()
	if d.db, err = sql.Open("mysql", d.server.DSN()); err != nil {
		return nil, err
	}
	d.db.SetMaxOpenConns(1)
	rows := strings.TrimSuffix(strings.Repeat("(NULL, 0),", loadRows), ",")
	for _, statement := range []string{
		"CREATE DATABASE " + loadSchema,
		"CREATE TABLE bench.item (id INT PRIMARY KEY AUTO_INCREMENT, n INT NOT NULL) ENGINE=InnoDB",
		"INSERT INTO bench.item VALUES " + rows,
	} {
		if _, err := d.db.ExecContext(ctx, statement); err != nil {
			return nil, fmt.Errorf("%.40s: %w", statement, err)
		}
	}
	return d, d.startLoad()
}

func (d *database) startLoad() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dsn, err := d.dsn("", "")
	if err != nil {
		return err
	}
	cmd := exec.Command(self, loadArg)
	cmd.Env = append(os.Environ(), loadDSNEnv+"="+dsn)
	cmd.Stderr = os.Stderr
	d.load, err = process.Start(cmd, process.Tied)
	return err
}

// dsn is the DSN of the load's schema, for root if user is empty.
func (d *database) dsn(user, password string) (string, error) {
	c, err := mysql.ParseDSN(d.server.DSN())
	if err != nil {
		return "", err
	}
	c.DBName = loadSchema
	if user != "" {
		c.User, c.Passwd = user, password
	}
	return c.FormatDSN(), nil
}

func (d *database) stop() error {
	var errs []error
	if d.load != nil {
		select {
		case <-d.load.Done():
			errs = append(errs, fmt.Errorf("the load has ended: %w", d.load.Err()))
		default:
			errs = append(errs, d.load.Kill())
		}
	}
	if d.db != nil {
		errs = append(errs, d.db.Close())
	}
	return errors.Join(append(errs, d.server.Kill())...) // its data is not needed
}

// reading is the counters at one time.
type reading struct {
	at      time.Time
	commits float64
	cpu     float64 // s, of the server
	own     float64 // s, of this process, in which the collector runs
}

func (d *database) read(ctx context.Context) (r reading, err error) {
	var name string
	if err := d.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Com_update'").Scan(&name, &r.commits); err != nil {
		return reading{}, fmt.Errorf("count commits: %w", err)
	}
	r.at = time.Now()
	if r.cpu, err = cpuOf(d.server.Pid()); err != nil {
		return reading{}, err
	}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return reading{}, err
	}
	r.own = time.Duration(own.Utime.Nano() + own.Stime.Nano()).Seconds()
	return r, nil
}

func cpuOf(pid int) (float64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := p.Stat()
	if err != nil {
		return 0, err
	}
	return stat.CPUTime(), nil
}
