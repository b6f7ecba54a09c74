package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"assay/harness/lab/stack/dbserver/dbservertest"
	"assay/harness/observe/collect/mysql"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

func TestMain(m *testing.M) { os.Exit(dbservertest.Main(m)) }

// eachFlavour runs a test on a server of both flavours, one after the other:
// two loads at a time would only measure each other. Tests without a load are
// parallel.
func eachFlavour(t *testing.T, f func(t *testing.T, b *bench)) {
	t.Helper()
	for _, flavour := range []string{"mariadb", "mysql"} {
		t.Run(flavour, func(t *testing.T) {
			s := dbservertest.Start(t, flavour)
			f(t, newBench(t, flavour, s.DSN()))
		})
	}
}

// bench is a server with a table to load.
type bench struct {
	flavour, dsn string
	db           *sql.DB // of root, in the schema of the load
}

const (
	schema = "shop"
	items  = 2000
)

func newBench(t *testing.T, flavour, dsn string) *bench {
	t.Helper()
	b := &bench{flavour: flavour, dsn: dsn}
	root := dbservertest.Open(t, dsn)
	dbservertest.Exec(t, root, "CREATE DATABASE "+schema)
	b.db = dbservertest.Open(t, with(t, dsn, func(c *driver.Config) { c.DBName = schema }))
	b.db.SetMaxIdleConns(64)
	dbservertest.Exec(t, b.db,
		"CREATE TABLE item (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB",
		fmt.Sprintf("INSERT INTO item SELECT a.n * 100 + b.n, 0 FROM %s a, %s b WHERE a.n < %d", digits, digits, items/100))
	return b
}

// digits is a table of the numbers from 0 to 99.
const digits = "(SELECT x.d * 10 + y.d AS n FROM (SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) x," +
	" (SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) y)"

func with(t *testing.T, dsn string, change func(*driver.Config)) string {
	t.Helper()
	c, err := driver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	change(c)
	return c.FormatDSN()
}

// load runs statements made by next from n sessions, until stop is called.
func (b *bench) load(t *testing.T, n int, next func() string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var sessions sync.WaitGroup
	for range n {
		sessions.Go(func() {
			conn, err := b.db.Conn(ctx)
			if err != nil {
				t.Errorf("connect: %v", err)
				return
			}
			defer func() { _ = conn.Close() }()
			for ctx.Err() == nil {
				// Not with ctx: a connection cut in the middle would leave its
				// statement running.
				if _, err := conn.ExecContext(context.Background(), next()); err != nil {
					t.Errorf("load: %v", err)
					return
				}
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); sessions.Wait() })
	t.Cleanup(stop)
	return stop
}

func update() string { return fmt.Sprintf("UPDATE item SET n = n + 1 WHERE id = %d", rand.IntN(items)) }
func hotRow() string { return "UPDATE item SET n = n + 1 WHERE id = 7" }

// collector makes one that is closed at the end.
func collector(t *testing.T, dsn string) *mysql.Collector {
	t.Helper()
	c := mysql.New(dsn, mysql.Options{Schema: schema})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

func started(t *testing.T, dsn string) *mysql.Collector {
	t.Helper()
	c := collector(t, dsn)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// run is a Run in the background that gathers frames.
type run struct {
	cancel context.CancelFunc
	done   chan error
	mu     sync.Mutex
	frames []metric.Frame
}

func start(t *testing.T, c *mysql.Collector) *run {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &run{cancel: cancel, done: make(chan error, 1)}
	go func() {
		r.done <- c.Run(ctx, func(f metric.Frame) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.frames = append(r.frames, f)
			return nil
		})
	}()
	t.Cleanup(cancel)
	return r
}

// stop ends the run, which must take little time, and returns its frames folded.
func (r *run) stop(t *testing.T) (seen, error) {
	t.Helper()
	r.cancel()
	select {
	case err := <-r.done:
		return fold(t, r.frames), err
	case <-time.After(4 * time.Second):
		t.Fatal("the run did not end within 4 s")
		return seen{}, nil
	}
}

// seen is a run's frames, as the record has them.
type seen struct {
	*record.Timeline
	span   record.Span
	frames []metric.Frame
}

// fold checks what holds for the frames of every run.
func fold(t *testing.T, frames []metric.Frame) seen {
	t.Helper()
	if len(frames) == 0 {
		t.Fatal("no frames")
	}
	s := seen{Timeline: record.NewTimeline(), frames: frames}
	for i, f := range frames {
		if f.Source != "database" || f.Sequence != uint64(i+1) || f.Closing != (i == len(frames)-1) {
			t.Errorf("frame %d of %d: source %q, sequence %d, closing %v", i+1, len(frames), f.Source, f.Sequence, f.Closing)
		}
		if want := frames[0].Second + int64(i); !f.Closing && f.Second != want {
			t.Errorf("frame %d is of second %d, want %d", i+1, f.Second, want)
		}
		s.Add(f)
	}
	last := frames[len(frames)-1]
	if len(last.Points) != 1 || last.Points[0].Series.Name != metric.WorkerFrames || last.Points[0].Value != float64(len(frames)-1) {
		t.Errorf("closing frame holds %v, want %s = %d", last.Points, metric.WorkerFrames, len(frames)-1)
	}
	s.span = record.Span{From: frames[0].Second, To: last.Second + 1}
	return s
}

func (s seen) sum(name string, labels ...string) float64 {
	total, _ := s.Sum(name, metric.NewSeries(name, "", labels...).Labels, s.span)
	return total
}

// share is the part of the active sessions that was in one of these classes.
func (s seen) share(classes ...string) float64 {
	part := 0.0
	for _, c := range classes {
		part += s.sum(metric.DBSession, "class", c)
	}
	return part / s.sum(metric.DBSession)
}

// longestGap is in ms.
func (s seen) longestGap() float64 {
	gap, _ := s.Hist(metric.DBSampleInterval, nil, s.span).Max()
	return gap
}

// describe lists what was seen, for a test that failed.
func (s seen) describe() (text string) {
	totals := map[string]float64{}
	for _, f := range s.frames {
		for _, p := range f.Points {
			if p.Kind == metric.Counter && p.Series.Name != metric.DBCounter {
				totals[p.Series.Key()] += p.Value
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(totals)) {
		text += fmt.Sprintf("%10.1f %s\n", totals[key], key)
	}
	return text
}
