package target

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	code "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-sql-driver/mysql"

	collect "assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/metric"
)

// parseDSN completes a DSN with the parameters that the service needs. It does not
// return the driver's error, which may quote part of the password.
func parseDSN(dsn string, log mysql.Logger) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, errors.New("ASSAY_DB: want user:password@tcp(host:port)/database")
	}
	// Every session uses UTC, so that persisted_at can be compared with the generator's
	// clock in whatever time zone the server is.
	cfg.ParseTime, cfg.Loc = true, time.UTC
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	cfg.Params["time_zone"] = "'+00:00'"
	// The driver writes arguments into the statement: one round trip each. Prepared
	// statements would cost a prepare and a close for each statement, since
	// database/sql keeps them per connection, and would count as Com_stmt_* instead of
	// the Com_insert that an operator expects. The driver escapes safely under utf8mb4,
	// its default collation.
	cfg.InterpolateParams = true
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	// A running statement is never cancelled (see conn.exec): this time-out detects a
	// server that stops answering.
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = 60 * time.Second
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = 60 * time.Second
	}
	cfg.Logger = log
	// Formatting and parsing again checks the parameters set above together.
	checked, err := mysql.ParseDSN(cfg.FormatDSN())
	if err != nil {
		return nil, errors.New("ASSAY_DB: conflicting parameters")
	}
	checked.Logger = log
	return checked, nil
}

// database hands out connections: from one pool, or from a new pool for each request.
type database struct {
	connector  driver.Connector
	shared     *sql.DB
	health     *sql.DB
	background *sql.DB
	perRequest bool
	m          *metrics
}

func openDatabase(cfg *mysql.Config, p Pool, m *metrics) (*database, error) {
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	shared := sql.OpenDB(connector)
	shared.SetMaxOpenConns(p.MaxOpen)
	shared.SetConnMaxLifetime(p.MaxLifetime)
	idle := p.MaxIdle
	if idle < 0 {
		if idle = p.MaxOpen; idle == 0 {
			idle = math.MaxInt32
		}
	}
	shared.SetMaxIdleConns(idle)
	// The health check has its own connection: with a saturated pool the database is
	// still healthy.
	health := sql.OpenDB(connector)
	health.SetMaxOpenConns(1)
	// So do the two workers: the pool's settings and metrics are about requests.
	background := sql.OpenDB(connector)
	background.SetMaxOpenConns(2)
	return &database{connector: connector, shared: shared, health: health, background: background, perRequest: p.PerRequest, m: m}, nil
}

func (d *database) ping(ctx context.Context) error { return d.health.PingContext(ctx) }

func (d *database) close() error {
	return errors.Join(d.shared.Close(), d.health.Close(), d.background.Close())
}

// scope is the pool of one request, one batch or one worker.
type scope struct {
	db  *sql.DB
	own bool
	m   *metrics
}

func (d *database) scope() scope {
	if !d.perRequest {
		return scope{db: d.shared, m: d.m}
	}
	d.m.poolsOpened.Inc()
	return scope{db: sql.OpenDB(d.connector), own: true, m: d.m}
}

// workers is the pool of the workers, which needs no close.
func (d *database) workers() scope { return scope{db: d.background, m: d.m} }

func (s scope) close() {
	if s.own {
		s.db.Close()
	}
}

// conn takes a connection, and records the wait for it separately from the time of the
// statements, which report A confused. It waits until ctx is done.
func (s scope) conn(ctx context.Context) (*conn, error) {
	start := time.Now()
	c, err := s.db.Conn(ctx)
	s.m.connWait.Observe(time.Since(start).Seconds())
	if err != nil {
		s.m.dbErrors.WithLabelValues(s.connClass(err)).Inc()
		return nil, err
	}
	return &conn{c: c, on: c, m: s.m}, nil
}

// connClass is the class of the error of getting a connection. A shared pool that gave none
// in time was exhausted: connections are opened in less than a request's time.
func (s scope) connClass(err error) string {
	if !s.own && errors.Is(err, context.DeadlineExceeded) {
		return metric.ErrorPoolTimeout
	}
	return classOf(err)
}

// classOf is the class of an error, one of metric.Error*.
func classOf(err error) string { return collect.Driver{}.Dialect().Classify(err).Class }

// exec runs one statement on its own connection, and commits it.
func (s scope) exec(ctx context.Context, query string, args ...any) (affected int64, err error) {
	err = retryConflict(func() error {
		c, err := s.conn(ctx)
		if err != nil {
			return err
		}
		defer c.release()
		affected, err = c.exec(ctx, query, args...)
		return err
	})
	return affected, err
}

// row reads one row on its own connection.
func (s scope) row(ctx context.Context, dest []any, query string, args ...any) error {
	c, err := s.conn(ctx)
	if err != nil {
		return err
	}
	defer c.release()
	return c.row(ctx, dest, query, args...)
}

// conn is a connection from a pool, with or without a transaction.
type conn struct {
	c  *sql.Conn
	on interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
	m *metrics
}

func (c *conn) release() { c.c.Close() }

// exec starts no statement once ctx is done, but waits for a started one: the driver
// can cancel only by closing the connection, after which the outcome is unknown, and
// impatient clients cause a storm of new connections.
func (c *conn) exec(ctx context.Context, query string, args ...any) (affected int64, err error) {
	err = c.timed(ctx, verb(query), func(ctx context.Context) error {
		res, err := c.on.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		affected, err = res.RowsAffected()
		return err
	})
	return affected, err
}

func (c *conn) row(ctx context.Context, dest []any, query string, args ...any) error {
	return c.timed(ctx, verb(query), func(ctx context.Context) error {
		return c.on.QueryRowContext(ctx, query, args...).Scan(dest...)
	})
}

// each scans every row and calls do for it.
func (c *conn) each(ctx context.Context, do func(scan func(dest ...any) error) error, query string, args ...any) error {
	return c.timed(ctx, verb(query), func(ctx context.Context) error {
		rows, err := c.on.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := do(rows.Scan); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

func (c *conn) timed(ctx context.Context, verb string, do func(context.Context) error) (err error) {
	defer func() {
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			c.m.dbErrors.WithLabelValues(classOf(err)).Inc()
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	start := time.Now()
	err = do(context.WithoutCancel(ctx))
	c.m.query.WithLabelValues(verb).Observe(time.Since(start).Seconds())
	return err
}

// inTransaction runs do in one transaction, and commits unless do fails or ctx is done.
// After a lock conflict it runs do again.
func (s scope) inTransaction(ctx context.Context, isolation sql.IsolationLevel, do func(*conn) error) error {
	return retryConflict(func() error {
		c, err := s.conn(ctx)
		if err != nil {
			return err
		}
		defer c.release()
		var tx *sql.Tx
		err = c.timed(ctx, "begin", func(ctx context.Context) (err error) {
			tx, err = c.c.BeginTx(ctx, &sql.TxOptions{Isolation: isolation})
			return err
		})
		if err != nil {
			return err
		}
		// Does nothing after a commit.
		defer tx.Rollback()
		c.on = tx
		if err := do(c); err != nil {
			return err
		}
		return c.timed(ctx, "commit", func(context.Context) error { return tx.Commit() })
	})
}

// retryConflict tries up to three times after a lock conflict. Only after these two
// errors, and a rollback, is it certain that nothing was changed.
func retryConflict(do func() error) error {
	var err error
	for range 3 {
		if err = do(); !isServerError(err, code.ER_LOCK_DEADLOCK, code.ER_LOCK_WAIT_TIMEOUT) {
			return err
		}
	}
	return err
}

// verb is the first word of a statement in lower case, a bounded label.
func verb(query string) string {
	word, _, _ := strings.Cut(query, " ")
	return strings.ToLower(word)
}
