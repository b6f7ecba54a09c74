package binlog

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	replicated "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"golang.org/x/sync/errgroup"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/mysql"
)

// Read is the total of all readers.
type Read struct {
	Readers    int     `json:"readers"`
	Events     int64   `json:"events"`
	Bytes      int64   `json:"bytes"`
	CPUSeconds float64 `json:"cpu_seconds"` // CPU time of the readers' process
}

// reportInterval is the time between two reports of what has been read so far.
const reportInterval = time.Second

// Run reads from the present end of the binlog until ctx is done. It reports what has been
// read once every reader has received its first event, then every second, and at the end.
// It fails if a reader's connection does.
func Run(ctx context.Context, dsn string, readers int, report func(Read)) error {
	c, err := mysql.Config(dsn)
	if err != nil {
		return err
	}
	from, flavour, err := position(ctx, dsn)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return fmt.Errorf("read DSN: %w", err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("read DSN: %w", err)
	}
	id := firstID()
	var events, bytes, started atomic.Int64
	total := func() Read { return Read{readers, events.Load(), bytes.Load(), cpu()} }
	reading := make(chan struct{})
	group, within := errgroup.WithContext(ctx)
	for i := range readers {
		syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
			ServerID: id + uint32(i), Flavor: flavour, Host: host, Port: uint16(number), User: c.User, Password: c.Passwd, TLSConfig: c.TLS,
			// Events are decoded (the default), as a connector does.
			MaxReconnectAttempts: 1, HeartbeatPeriod: 10 * time.Second, Logger: slog.New(slog.DiscardHandler),
		})
		group.Go(func() error {
			first := sync.OnceFunc(func() {
				if started.Add(1) == int64(readers) {
					close(reading)
				}
			})
			return readAll(within, syncer, from, func(e *replication.BinlogEvent) {
				events.Add(1)
				bytes.Add(int64(len(e.RawData)))
				first()
			})
		})
	}
	group.Go(func() error {
		select {
		case <-reading:
		case <-within.Done():
			return nil
		}
		tick := time.NewTicker(reportInterval)
		defer tick.Stop()
		for {
			report(total())
			select {
			case <-tick.C:
			case <-within.Done():
				return nil
			}
		}
	})
	if err := group.Wait(); err != nil {
		return err
	}
	report(total())
	return nil
}

// readAll calls do for each event from a position on, until ctx is done, and closes the
// syncer.
func readAll(ctx context.Context, syncer *replication.BinlogSyncer, from replicated.Position, do func(*replication.BinlogEvent)) error {
	defer syncer.Close()
	stream, err := syncer.StartSync(from)
	if err != nil {
		return fmt.Errorf("read the binlog: %w", err)
	}
	for {
		event, err := stream.GetEvent(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the binlog: %w", err)
		}
		do(event)
	}
}

// firstID is the first of the readers' server ids, which no other replica may have:
// the server ends the connection of an older replica with the same id.
func firstID() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return 1<<30 + binary.LittleEndian.Uint32(b[:])>>3
}

func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}

// Main reads the binlog of the database at the DSN with count readers until ctx is done. It
// writes each report of Run as a line of JSON.
func Main(ctx context.Context, dsn, count string, out io.Writer) error {
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return fmt.Errorf("number of readers: %q is not a positive integer", count)
	}
	if dsn == "" {
		return hint.With(errors.New("no database is named"), "set ASSAY_DB to its DSN")
	}
	var unwritten error
	lines := json.NewEncoder(out)
	err = Run(ctx, dsn, n, func(r Read) { unwritten = cmp.Or(unwritten, lines.Encode(r)) })
	return cmp.Or(err, unwritten)
}

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
			p, err = scan(rows)
			return p, flavour, err
		}
	}
	return p, "", fmt.Errorf("read the binlog's position: %w", err)
}

// scan reads file and position, which are the first two columns in every flavour.
func scan(rows *sql.Rows) (p replicated.Position, err error) {
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return p, err
	}
	if !rows.Next() {
		return p, errors.Join(errors.New("the database writes no binlog"), rows.Err())
	}
	into := make([]any, len(columns))
	for i := range into {
		into[i] = new(sql.RawBytes)
	}
	into[0], into[1] = &p.Name, &p.Pos
	if err := rows.Scan(into...); err != nil {
		return p, fmt.Errorf("read the binlog's position: %w", err)
	}
	return p, rows.Err()
}
