//go:build live

package stack_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/localstack"
	collect "assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/servers/firewall"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/lab/stack"
)

// lab is a stack of several nodes with a table.
type lab struct {
	*testing.T
	dir     string
	state   *stack.State
	options stack.Options
	db      map[string]*sql.DB // by the names of stack.State.NodesDSN
	rows    int                // written so far
}

// startLab starts the stack. Its database ports follow each other.
func startLab(t *testing.T, flavour string, topology stack.Topology, proxy bool) *lab {
	t.Helper()
	o := options(t, flavour)
	o.Influxd, o.Topology, o.Proxy = "", topology, proxy
	l := &lab{T: t, dir: o.Dir, db: map[string]*sql.DB{}}
	t.Cleanup(func() {
		if err := stack.Down(context.Background(), o.Dir, stack.All); err != nil {
			t.Errorf("down: %v", err)
		}
		if left, err := firewall.Tables("assay_"); err != nil || len(left) > 0 && strings.Contains(strings.Join(left, " "), stack.Table(o.Dir)) {
			t.Errorf("tables of the packet filter are left: %q, %v", left, err)
		}
	})
	t.Cleanup(l.logs)
	l.options = o
	l.state, _ = mustUp(t, o)
	for node := range strings.FieldsSeq(l.state.NodesDSN()) {
		name, dsn, _ := strings.Cut(node, "=")
		c, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Fatal("unreadable DSN of", name)
		}
		// A node that is cut off does not answer.
		c.Timeout, c.ReadTimeout, c.WriteTimeout, c.Logger = 2*time.Second, 2*time.Second, 2*time.Second, &mysql.NopLogger{}
		connector, err := mysql.NewConnector(c)
		if err != nil {
			t.Fatal(err)
		}
		l.db[name] = sql.OpenDB(connector)
		l.db[name].SetMaxIdleConns(0)
		t.Cleanup(func() { _ = l.db[name].Close() })
	}
	polltest.Until(t, "the table is created", func() bool {
		_, err := l.db["a"].Exec("CREATE TABLE IF NOT EXISTS stale_reads (i INT PRIMARY KEY, node INT NOT NULL)")
		return err == nil
	})
	l.write("a")
	l.await("b")
	return l
}

// write writes one row through a node or the proxy, as soon as that accepts it: a group
// that has lost a node notices it after seconds.
func (l *lab) write(through string) {
	l.Helper()
	l.rows++
	var last error
	defer func() {
		if l.Failed() {
			l.Log("the last error:", last)
		}
	}()
	polltest.Until(l, "a row is written through "+through, func() bool {
		_, last = l.db[through].Exec("INSERT INTO stale_reads VALUES (?, @@server_id)", l.rows)
		var e *mysql.MySQLError
		// A write that timed out may have been executed.
		return last == nil || l.rows > 1 && errors.As(last, &e) && e.Number == 1062
	})
}

// await waits until a node has all rows.
func (l *lab) await(node string) {
	l.Helper()
	polltest.Until(l, "node "+node+" has all rows", func() bool {
		var n int
		return l.db[node].QueryRow("SELECT COUNT(*) FROM stale_reads").Scan(&n) == nil && n == l.rows
	})
}

func (l *lab) do(node string, a stack.Action) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), 4*time.Minute)
	defer cancel()
	for range 2 { // a repetition does nothing
		if err := stack.NodeDo(ctx, l.dir, node, a); err != nil {
			l.Fatalf("%s: %v", node, err)
		}
	}
}

// condition fails the test unless a node has this condition.
func (l *lab) condition(node string, want stack.Condition) {
	l.Helper()
	_, all, err := stack.Status(l.dir)
	if err != nil {
		l.Fatal(err)
	}
	for _, p := range all {
		if strings.TrimPrefix(p.Name, "node ") == node {
			if p.Condition != want {
				l.Errorf("%+v, want %s", p, want)
			}
			return
		}
	}
	l.Errorf("no status of %s: %+v", node, all)
}

// fails makes node fail and brings it back, while other is written.
func (l *lab) fails(node string, how stack.Action, other string) {
	l.Helper()
	l.do(node, how)
	if how == stack.Cut {
		l.condition(node, stack.IsCut)
		if err := l.db[node].PingContext(l.Context()); err == nil {
			l.Errorf("node %s answers although it is cut off", node)
		}
	} else {
		l.condition(node, stack.IsDown)
	}
	l.write(other)
	l.do(node, stack.Start)
	l.condition(node, stack.IsUp)
	l.await(node)
	l.write(other)
	l.await(node)
}

// TestReplica: a replica that is cut off catches up.
func TestReplica(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.25)
	l := startLab(t, "mariadb", stack.Replica, true)
	l.fails("b", stack.Cut, "proxy")
}

// TestTwoWriters: both of two nodes are written, and the proxy leads to the other one after
// one was killed.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.2)
	l := startLab(t, "mariadb", stack.MultiPrimary, true)
	l.write("b")
	l.await("a")
	l.collects("a", "b")
	release, err := localstack.Reserve(l.dir) // as a run does
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	polltest.Until(t, "the proxy leads to a", func() bool { return l.serves(1) })
	l.do("a", stack.Kill)
	l.write("proxy")
	polltest.Until(t, "the proxy leads to b", func() bool { return l.serves(2) })
}

// collects checks that a collector of one node marks and switches on what it needs at that
// node alone, also if the group replicates all writes.
func (l *lab) collects(node, other string) {
	l.Helper()
	marks := func() (all [2]int) {
		for i, name := range []string{node, other} {
			if err := l.db[name].QueryRow("SELECT COUNT(*) FROM performance_schema.setup_objects WHERE OBJECT_SCHEMA LIKE 'assay%'").Scan(&all[i]); err != nil {
				l.Fatal(err)
			}
		}
		return all
	}
	c := collect.New(l.state.CollectorDSN())
	if err := c.Start(l.Context()); err != nil {
		l.Fatal(err)
	}
	during, notes := marks(), c.Notes()
	if err := c.Close(); err != nil {
		l.Error(err)
	}
	if after := marks(); during[0] == 0 || during[1] != 0 || after != [2]int{} || len(notes) > 0 {
		l.Errorf("marks at %s and %s: %d during a run, %d after it; notes %q", node, other, during, after, notes)
	}
}

// serves reports whether the proxy leads to the node with this id.
func (l *lab) serves(id int) bool {
	var got int
	return l.db["proxy"].QueryRow("SELECT @@server_id").Scan(&got) == nil && got == id
}

// logs prints the logs of the stack if the test fails.
func (l *lab) logs() {
	if !l.Failed() {
		return
	}
	for _, name := range []string{"log/haproxy.log", "log/health.log", "log/garbd.log"} {
		text, err := os.ReadFile(filepath.Join(l.dir, name))
		l.Logf("%s (%v):\n%s", name, err, text)
	}
	_ = stack.WriteStatus(l.Output(), l.dir)
}
