package binlog

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	replicated "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"golang.org/x/sync/errgroup"

	"assay/harness/observe/collect/mysql"
)

// Read is the total of all readers.
type Read struct {
	Readers    int     `json:"readers"`
	Events     int64   `json:"events"`
	Bytes      int64   `json:"bytes"`
	CPUSeconds float64 `json:"cpu_seconds"` // of the readers' process
}

// Run reads from the present end of the binlog until ctx is done, and calls ready once
// every reader has received its first event. It fails if a reader's connection does.
func Run(ctx context.Context, dsn string, readers int, ready func()) (Read, error) {
	c, err := mysql.Config(dsn)
	if err != nil {
		return Read{}, err
	}
	from, flavour, err := position(ctx, dsn)
	if err != nil {
		return Read{}, err
	}
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return Read{}, fmt.Errorf("read DSN: %w", err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Read{}, fmt.Errorf("read DSN: %w", err)
	}
	first := firstID()
	var events, bytes, started atomic.Int64
	group, within := errgroup.WithContext(ctx)
	for i := range readers {
		group.Go(func() error {
			syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
				ServerID: first + uint32(i), Flavor: flavour, Host: host, Port: uint16(number), User: c.User, Password: c.Passwd, TLSConfig: c.TLS,
				// Events are decoded (the default), as a connector does.
				MaxReconnectAttempts: 1, HeartbeatPeriod: 10 * time.Second, Logger: slog.New(slog.DiscardHandler),
			})
			defer syncer.Close()
			stream, err := syncer.StartSync(from)
			if err != nil {
				return fmt.Errorf("read the binlog: %w", err)
			}
			for got := false; ; {
				event, err := stream.GetEvent(within)
				if within.Err() != nil {
					return nil
				}
				if err != nil {
					return fmt.Errorf("read the binlog: %w", err)
				}
				events.Add(1)
				bytes.Add(int64(len(event.RawData)))
				if !got && started.Add(1) == int64(readers) {
					ready()
				}
				got = true
			}
		})
	}
	err = group.Wait()
	return Read{readers, events.Load(), bytes.Load(), cpu()}, err
}

// position is the end of the binlog, and the server's flavour in the library's terms.
func position(ctx context.Context, dsn string) (p replicated.Position, flavour string, err error) {
	db, err := mysql.Driver{}.Open(dsn)
	if err != nil {
		return p, "", err
	}
	defer func() { _ = db.Close() }()
	var version string
	if err := db.QueryRowContext(ctx, "SELECT @@version").Scan(&version); err != nil {
		return p, "", fmt.Errorf("read the database's version: %w", err)
	}
	flavour = replicated.MySQLFlavor
	if mysql.IsMariaDB(version) {
		flavour = replicated.MariaDBFlavor
	}
	// MySQL 8.4 and later have only the first; older versions and MariaDB the second.
	for _, q := range []string{"SHOW BINARY LOG STATUS", "SHOW MASTER STATUS"} {
		var rows *sql.Rows
		if rows, err = db.QueryContext(ctx, q); err == nil {
			return first(rows, flavour)
		}
	}
	return p, "", fmt.Errorf("read the binlog's position: %w", err)
}
