package mysql_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"assay/harness/observe/collect/mysql"
	"assay/harness/observe/metric"
	"assay/harness/servers/mysqld/mysqldtest"
)

// odd is a setup that is neither all on nor all off.
var odd = []string{
	"UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'NO' WHERE NAME LIKE 'wait/synch/%LOCK_log'",
	"UPDATE performance_schema.setup_instruments SET TIMED = 'NO' WHERE NAME = '" + handler + "'",
	"UPDATE performance_schema.setup_instruments SET ENABLED = 'NO' WHERE NAME = 'wait/lock/table/sql/handler'",
}

// handler is the only instrument whose time is taken.
const handler = "wait/io/table/sql/handler"

const together = "another run of Assay used this server at the same time"

// alone makes a collector of a run of its own.
func alone(t *testing.T, b *bench) *mysql.Collector {
	t.Helper()
	c := mysql.New(b.dsn, mysql.Options{Schema: schema})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

func closed(t *testing.T, c *mysql.Collector) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// killed is what the server sees of a run that is killed: its connections end.
func killed(t *testing.T, b *bench, c *mysql.Collector) {
	t.Helper()
	id := mysql.LinkID(c)
	const sessions = "SELECT COALESCE(MAX(PROCESSLIST_ID), 0) FROM performance_schema.session_connect_attrs WHERE ATTR_NAME = 'assay_link' AND ATTR_VALUE = ?"
	for session := 0; ; time.Sleep(10 * time.Millisecond) {
		if err := b.db.QueryRow(sessions, id).Scan(&session); err != nil {
			t.Fatal(err)
		}
		if session == 0 {
			return
		}
		_, _ = b.db.Exec(fmt.Sprintf("KILL %d", session)) // it may end this instant
	}
}

// Runs come, end and are killed in any order: what was on stays on for those
// that are left, and the last to end restores what the first found.
func TestRunsTogether(t *testing.T) {
	t.Parallel()
	eachFlavour(t, func(t *testing.T, b *bench) {
		mysqldtest.Exec(t, b.db, odd...)
		before := setupRows(t, b.db)
		first := alone(t, b)
		during := setupRows(t, b.db)
		if slices.Contains(first.Notes(), together) {
			t.Error("the only run is not alone")
		}
		closed(t, first)
		for seed := range uint64(6) {
			random := rand.New(rand.NewPCG(seed, 0))
			var story []string
			var left []*mysql.Collector
			for range 8 {
				at := 0
				if len(left) > 0 {
					at = random.IntN(len(left))
				}
				switch dice := random.IntN(10); {
				case len(left) < 2 || dice < 3:
					left = append(left, alone(t, b))
					story = append(story, "starts")
				case dice < 7:
					closed(t, left[at])
					left = slices.Delete(left, at, at+1)
					story = append(story, fmt.Sprintf("%d ends", at))
				default:
					killed(t, b, left[at])
					left = slices.Delete(left, at, at+1)
					story = append(story, fmt.Sprintf("%d is killed", at))
				}
				if off := changed(during, setupRows(t, b.db)); len(off) > 0 {
					t.Fatalf("%v: not as the runs need it: %q", story, off)
				}
				if notes := strings.Join(left[len(left)-1].Notes(), "\n"); len(left) > 1 && !strings.Contains(notes, together) {
					t.Errorf("%v: no word of the others: %q", story, notes)
				}
			}
			for _, c := range left {
				closed(t, c)
			}
			if changed := changed(before, setupRows(t, b.db)); len(changed) > 0 {
				t.Fatalf("%v: not restored: %q", story, changed)
			}
		}
	})
}

// All at once: whoever is last knows it.
func TestRunsEndTogether(t *testing.T) {
	t.Parallel()
	eachFlavour(t, func(t *testing.T, b *bench) {
		before := setupRows(t, b.db)
		for range 5 {
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					c := mysql.New(b.dsn, mysql.Options{Schema: schema})
					if err := c.Start(context.Background()); err != nil {
						t.Error(err)
					}
					closed(t, c)
				})
			}
			all.Wait()
			if changed := changed(before, setupRows(t, b.db)); len(changed) > 0 {
				t.Fatalf("not restored: %q", changed)
			}
		}
	})
}

// The run that was there first hears of a second that comes and goes, and keeps
// its waits after that.
func TestFirstRunSeesTheSecond(t *testing.T) {
	t.Parallel()
	eachFlavour(t, func(t *testing.T, b *bench) {
		c := started(t, b.dsn)
		r := start(t, c)
		second := alone(t, b)
		for deadline := time.Now().Add(20 * time.Second); !strings.Contains(strings.Join(c.Notes(), "\n"), together); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the first run never heard of the second")
			}
		}
		closed(t, second)
		stopLoad := b.load(t, 4, update)
		time.Sleep(2 * time.Second)
		s, err := r.stop(t)
		stopLoad()
		if err != nil {
			t.Fatal(err)
		}
		// Without the instruments a commit is inferred from the session's state.
		if s.sum(metric.DBSession, "class", "binlog") == 0 {
			t.Errorf("no waits for the binary log after the second has ended:\n%s", s.describe())
		}
	})
}

// A user who may not switch anything promises nothing that he could not keep.
func TestNoPromiseWithoutRights(t *testing.T) {
	t.Parallel()
	eachFlavour(t, func(t *testing.T, b *bench) {
		mysqldtest.Exec(t, b.db, "CREATE USER 'look'@'%' IDENTIFIED BY 'only'", "GRANT SELECT ON performance_schema.* TO 'look'@'%'")
		before := setupRows(t, b.db)
		first := alone(t, b)
		watcher := started(t, with(t, b.dsn, func(c *driver.Config) { c.User, c.Passwd = "look", "only" }))
		closed(t, first)
		if changed := changed(before, setupRows(t, b.db)); len(changed) > 0 {
			t.Errorf("not restored: %q", changed)
		}
		closed(t, watcher)
	})
}
