//go:build live

package mysql_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/databasetest"
	"assay.dev/assay/internal/testing/memorytest"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/internal/testing/samplingtest"
)

// mixedSetup enables and disables some instruments, so that the former state is neither
// all enabled nor all disabled.
var mixedSetup = []string{
	"UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'NO' WHERE NAME LIKE 'wait/synch/%LOCK_log'",
	"UPDATE performance_schema.setup_instruments SET TIMED = 'NO' WHERE NAME = '" + handler + "'",
	"UPDATE performance_schema.setup_instruments SET ENABLED = 'NO' WHERE NAME = 'wait/lock/table/sql/handler'",
}

// handler is the only instrument that is timed.
const handler = "wait/io/table/sql/handler"

func closed(t *testing.T, c sampling.Collector) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// collectEnv is an environment variable that makes this test binary run collectAndWait. Its
// value is the DSN.
const collectEnv = "ASSAY_TEST_COLLECT"

// collectAndWait starts a collector and waits until the process is killed.
func collectAndWait(dsn string) int {
	if err := mysql.New(dsn).Start(context.Background()); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("started")
	select {}
}

// running starts a run in another process. kill ends it (kill -9).
func running(t *testing.T, dsn string) (kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), collectEnv+"="+dsn)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "started\n" {
		t.Fatalf("the process printed %q", line)
	}
	return kill
}

// killed starts a run in another process and kills it.
func killed(t *testing.T, dsn string) { t.Helper(); running(t, dsn)() }

// expectSetup compares the setup with an earlier one.
func expectSetup(t *testing.T, b *bench, want map[string]string, when string) {
	t.Helper()
	if diff := changed(want, setupRows(t, b.db)); len(diff) > 0 {
		t.Errorf("%s: the setup differs: %q", when, diff)
	}
}

// expectRestored compares the setup with that before all runs, of which nothing may be left.
func expectRestored(t *testing.T, b *bench, before map[string]string, when string) {
	t.Helper()
	expectSetup(t, b, before, when)
	if n := marks(t, b); n > 0 {
		t.Errorf("%s: %d marks are left", when, n)
	}
}

// marks counts the marks of runs.
func marks(t *testing.T, b *bench) (n int) {
	t.Helper()
	if err := b.db.QueryRow("SELECT COUNT(*) FROM performance_schema.setup_objects WHERE OBJECT_SCHEMA LIKE 'assay%'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func shared(c sampling.Collector) bool { return slices.Contains(c.Notes(), sampling.SharedServer) }

// rights are what the documentation asks for.
func rights(t *testing.T, b *bench, user string) (dsn string) {
	t.Helper()
	account := "'" + user + "'@'%'"
	mysqldtest.Exec(t, b.db, "CREATE USER "+account+" IDENTIFIED BY 'r'",
		"GRANT SELECT, UPDATE ON performance_schema.* TO "+account, "GRANT INSERT, DELETE ON performance_schema.setup_objects TO "+account,
		"GRANT PROCESS ON *.* TO "+account)
	return with(t, b.dsn, func(c *driver.Config) { c.User, c.Passwd = user, "r" })
}

// When two runs are concurrent, the one that ends first leaves everything enabled, and the one
// that ends last restores it, through whichever user. The server keeps no connection
// attributes, so the runs know of each other without them.
func twoRunsAtOnce(t *testing.T, b *bench) {
	mysqldtest.Exec(t, b.db, mixedSetup...)
	before := setupRows(t, b.db)
	first := started(t, b.dsn)
	during := setupRows(t, b.db)
	if shared(first) {
		t.Error("the only run has the note of a shared server")
	}
	second := started(t, rights(t, b, "second"))
	expectSetup(t, b, during, "both run")
	closed(t, first)
	expectSetup(t, b, during, "the first has ended")
	if !shared(first) || !shared(second) {
		t.Errorf("notes: %q and %q", first.Notes(), second.Notes())
	}
	closed(t, second)
	expectRestored(t, b, before, "both have ended")
}

// A run of a user who may not restore anything keeps nothing on.
func runWithAGuest(t *testing.T, b *bench) {
	before := setupRows(t, b.db)
	mysqldtest.Exec(t, b.db, "CREATE USER 'guest'@'%' IDENTIFIED BY 'g'", "GRANT SELECT ON performance_schema.* TO 'guest'@'%'")
	first := started(t, b.dsn)
	visitor := started(t, with(t, b.dsn, func(c *driver.Config) { c.User, c.Passwd = "guest", "g" }))
	if notes := strings.Join(visitor.Notes(), "\n"); !strings.Contains(notes, "on only while another run lasts") || !shared(visitor) {
		t.Errorf("notes of the guest: %q", notes)
	}
	closed(t, first)
	expectRestored(t, b, before, "only the guest is left")
	closed(t, visitor)
	expectRestored(t, b, before, "all have ended")
}

// If two runs may restore one of the setup tables alone, the one that ends first leaves it on, and
// the last restores it. The other table, which neither may, stays as it was.
func runsWithSomeRights(t *testing.T, b *bench) {
	mysqldtest.Exec(t, b.db, "CREATE USER 'partial'@'%' IDENTIFIED BY 'p'", "GRANT SELECT ON performance_schema.* TO 'partial'@'%'", "GRANT PROCESS ON *.* TO 'partial'@'%'",
		"GRANT UPDATE ON performance_schema.setup_consumers TO 'partial'@'%'", "GRANT INSERT, DELETE ON performance_schema.setup_objects TO 'partial'@'%'")
	dsn := with(t, b.dsn, func(c *driver.Config) { c.User, c.Passwd = "partial", "p" })
	before := setupRows(t, b.db)
	first := started(t, dsn)
	during := setupRows(t, b.db)
	if on := changed(before, during); len(on) == 0 || slices.ContainsFunc(on, func(name string) bool { return strings.Contains(name, "/") }) {
		t.Errorf("switched on: %q", on)
	}
	second := started(t, dsn)
	whole := started(t, b.dsn)
	closed(t, first)
	closed(t, whole)
	expectSetup(t, b, during, "the second runs, and keeps its table on")
	closed(t, second)
	expectRestored(t, b, before, "all have ended")
}

// When runs end at the same time, the last one restores the setup.
func runsEndAtOnce(t *testing.T, b *bench) { endAtOnce(t, b, 1) }

func endAtOnce(t *testing.T, b *bench, rounds int) {
	t.Helper()
	before := setupRows(t, b.db)
	for range rounds {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				c := mysql.New(b.dsn)
				if err := c.Start(context.Background()); err != nil {
					t.Error(err)
				}
				closed(t, c)
			})
		}
		all.Wait()
		expectRestored(t, b, before, "all have ended")
	}
}

// The first run notices a second one that starts and ends, and still has its waits
// afterwards.
func firstRunSeesTheSecond(t *testing.T, b *bench) {
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	second := started(t, b.dsn)
	polltest.Until(t, "the first run notices the second", func() bool { return shared(c) })
	closed(t, second)
	stopLoad := samplingtest.Load(t, b.db, 4, samplingtest.Brief, update)
	// Without the instruments a commit would be inferred from the session's state, with
	// another class.
	r.Until(t, "waits for the binary log are seen", func(s samplingtest.Result) bool {
		return s.Total(metric.DBSession, "class", "binlog") > 0
	})
	stopLoad()
	if _, err := r.Stop(t); err != nil {
		t.Error(err)
	}
}

// Examining or describing the server does not count as a run.
func examiningDoesNotCountAsARun(t *testing.T, b *bench) {
	before := setupRows(t, b.db)
	other := collector(t, b.dsn)
	if _, err := other.Describe(t.Context()); err != nil { // stays connected
		t.Fatal(err)
	}
	c := started(t, b.dsn)
	if _, err := (mysql.Driver{}).Examine(t.Context(), b.dsn); err != nil {
		t.Error(err)
	}
	closed(t, c)
	expectRestored(t, b, before, "the run has ended")
	if shared(c) {
		t.Errorf("notes: %q", c.Notes())
	}
}

// What a killed run has left on is restored by the next run, through whichever address and
// user it reaches the server: nothing of the killed run is needed, not even its folder.
func killedRunIsRestored(t *testing.T, b *bench) {
	mysqldtest.Exec(t, b.db, mixedSetup...)
	before := setupRows(t, b.db)
	var socket string
	if err := b.db.QueryRow("SELECT IF(@@socket LIKE '/%', @@socket, CONCAT(@@datadir, @@socket))").Scan(&socket); err != nil {
		t.Fatal(err)
	}
	ways := map[string]string{
		"same DSN":  b.dsn,
		"host name": with(t, b.dsn, func(c *driver.Config) { c.Addr = strings.Replace(c.Addr, "127.0.0.1", "localhost", 1) }),
		"socket":    with(t, b.dsn, func(c *driver.Config) { c.Net, c.Addr = "unix", socket }),
		"schema and parameters": with(t, b.dsn, func(c *driver.Config) {
			c.DBName, c.Params = "", map[string]string{"max_heap_table_size": "16777216"}
		}),
		"user": rights(t, b, "next"),
	}
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		killed(t, b.dsn)
		if maps.Equal(setupRows(t, b.db), before) {
			t.Fatalf("%s: a killed run changed nothing, or restored it", way)
		}
		closed(t, started(t, ways[way]))
		expectRestored(t, b, before, way+": the next run has ended")
	}
}

// A run that is killed while another lasts is restored by the other.
func killedRunIsRestoredByAnother(t *testing.T, b *bench) {
	before := setupRows(t, b.db)
	kill := running(t, b.dsn)
	during := setupRows(t, b.db)
	second := started(t, rights(t, b, "survivor"))
	kill()
	expectSetup(t, b, during, "the first was killed")
	closed(t, second)
	expectRestored(t, b, before, "the second has ended")
}

// An examination says what a killed run has left on, with the SQL that restores it. What
// runs have on that last is not left on.
func leftoversAreExamined(t *testing.T, b *bench) {
	mysqldtest.Exec(t, b.db, mixedSetup...)
	before := setupRows(t, b.db)
	left := func() string {
		t.Helper()
		found, err := (mysql.Driver{}).Examine(t.Context(), b.dsn)
		if err != nil {
			t.Fatal(err)
		}
		return found.Left
	}
	if text := left(); text != "" {
		t.Errorf("before any run: %q", text)
	}
	kill := running(t, b.dsn)
	during := setupRows(t, b.db)
	if text := left(); text != "" {
		t.Errorf("during a run: %q", text)
	}
	kill()
	whileLocked(t, b, "assay ending run 0", func(*sql.Conn) {
		if text := left(); text != "" {
			t.Errorf("while a run restores: %q", text)
		}
	})
	whileLocked(t, b, "assay setup", func(begins *sql.Conn) {
		seen := make(chan error, 1)
		go func() {
			time.Sleep(1500 * time.Millisecond)
			_, err := begins.ExecContext(context.Background(), "DO GET_LOCK('assay setup_consumers 0', 0), GET_LOCK('assay setup_instruments 0', 0), RELEASE_LOCK('assay setup')")
			seen <- err
		}()
		if text := left(); text != "" {
			t.Errorf("while a run begins: %q", text)
		}
		if err := <-seen; err != nil {
			t.Error(err)
		}
	})
	// Who may restore nothing leaves it as it is, and says so.
	mysqldtest.Exec(t, b.db, "CREATE USER 'looker'@'%' IDENTIFIED BY 'l'", "GRANT SELECT ON performance_schema.* TO 'looker'@'%'")
	looker := with(t, b.dsn, func(c *driver.Config) { c.User, c.Passwd = "looker", "l" })
	found, err := mysql.Driver{}.Examine(t.Context(), looker)
	visitor := started(t, looker)
	closed(t, visitor)
	if err != nil || !strings.Contains(found.Left, "killed, and a run of this user may not restore all of them; ") || !slices.Contains(visitor.Notes(), found.Left) ||
		strings.Contains(strings.Join(append(visitor.Notes(), found.Notes...), "\n"), "another run lasts") {
		t.Errorf("examined: %q and %q, %v; notes of the run: %q", found.Left, found.Notes, err, visitor.Notes())
	}
	expectSetup(t, b, during, "a run that may restore nothing has ended")
	text := left()
	why, sql, _ := strings.Cut(text, "; run as an administrator: ")
	if want := fmt.Sprintf("%d instruments and consumers are on since a run", len(changed(before, during))); !strings.Contains(why, want) {
		t.Errorf("after kill -9: %q, want %q", text, want)
	}
	expectSetup(t, b, during, "examined")
	for _, statement := range strings.Split(strings.TrimSuffix(sql, ";"), "; ") {
		mysqldtest.Exec(t, b.db, statement)
	}
	expectRestored(t, b, before, "the SQL was run")
	if text := left(); text != "" {
		t.Errorf("restored: %q", text)
	}
}

// whileLocked does something while a session, as one of another run, has a lock.
func whileLocked(t *testing.T, b *bench, name string, do func(*sql.Conn)) {
	t.Helper()
	conn, err := b.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var got int
	if err := conn.QueryRowContext(t.Context(), "SELECT GET_LOCK(?, 9)", name).Scan(&got); err != nil || got != 1 {
		t.Fatalf("lock %s: %d, %v", name, got, err)
	}
	do(conn)
	if _, err := conn.ExecContext(t.Context(), "DO RELEASE_ALL_LOCKS()"); err != nil {
		t.Error(err)
	}
}

// What somebody has changed after a run was killed stays as it is.
func laterChangesStay(t *testing.T, b *bench) {
	before := setupRows(t, b.db)
	killed(t, b.dsn)
	on := changed(before, setupRows(t, b.db))
	on = slices.DeleteFunc(on, func(name string) bool { return !strings.HasPrefix(name, "wait/synch/") })
	if len(on) < 3 {
		t.Fatalf("only %q are on", on)
	}
	mysqldtest.Exec(t, b.db,
		fmt.Sprintf("UPDATE performance_schema.setup_instruments SET TIMED = 'YES' WHERE NAME = '%s'", on[0]),
		fmt.Sprintf("UPDATE performance_schema.setup_instruments SET ENABLED = 'NO', TIMED = 'YES' WHERE NAME = '%s'", on[1]))
	want := fmt.Sprintf("database: %d instruments", marks(t, b)-2)
	if found, err := (mysql.Driver{}).Examine(t.Context(), b.dsn); err != nil || !strings.HasPrefix(found.Left, want) {
		t.Errorf("examined: %q, %v, want %q", found.Left, err, want)
	}
	closed(t, started(t, b.dsn))
	after := setupRows(t, b.db)
	if left := changed(before, after); !slices.Equal(left, []string{on[0], on[1]}) || after[on[0]] != "YES YES" || after[on[1]] != "NO YES" {
		t.Errorf("changed by hand: %q; changed in the end: %q, %q and %q", on[:2], left, after[on[0]], after[on[1]])
	}
	if n := marks(t, b); n > 0 {
		t.Errorf("%d marks are left", n)
	}
}

// A user who may update only one of the setup tables restores what a killed run enabled
// there. What it enabled in the other one stays marked.
func killedRunIsRestoredAsRightsAllow(t *testing.T, b *bench) {
	dsn := rights(t, b, "some")
	before := setupRows(t, b.db)
	remaining := func() (consumers, instruments, marked int) {
		t.Helper()
		for _, name := range changed(before, setupRows(t, b.db)) {
			if strings.Contains(name, "/") {
				instruments++
			} else {
				consumers++
			}
		}
		return consumers, instruments, marks(t, b)
	}
	killed(t, dsn)
	if consumers, instruments, marked := remaining(); consumers == 0 || instruments == 0 || marked != consumers+instruments {
		t.Fatalf("a killed run left %d consumers, %d instruments and %d marks", consumers, instruments, marked)
	}
	mysqldtest.Exec(t, b.db, "REVOKE UPDATE ON performance_schema.* FROM 'some'@'%'",
		"GRANT UPDATE ON performance_schema.setup_instruments TO 'some'@'%'")
	closed(t, started(t, dsn))
	if consumers, instruments, marked := remaining(); consumers == 0 || instruments != 0 || marked != consumers {
		t.Errorf("left are %d consumers, %d instruments and %d marks", consumers, instruments, marked)
	}
	mysqldtest.Exec(t, b.db, "GRANT UPDATE ON performance_schema.setup_consumers TO 'some'@'%'")
	closed(t, started(t, dsn))
	expectRestored(t, b, before, "the user may restore all")

	// Without the right to remove marks, rows and marks stay as they are.
	killed(t, dsn)
	during := setupRows(t, b.db)
	mysqldtest.Exec(t, b.db, "REVOKE DELETE ON performance_schema.setup_objects FROM 'some'@'%'")
	closed(t, started(t, dsn))
	expectSetup(t, b, during, "the user may not remove marks")
	mysqldtest.Exec(t, b.db, "GRANT DELETE ON performance_schema.setup_objects TO 'some'@'%'")
	closed(t, started(t, dsn))
	expectRestored(t, b, before, "the user may restore all again")
}

// A run that has switched instruments on, and then cannot read which, restores them as any
// other: it tries again.
func failedStartIsRestored(t *testing.T, b *bench) {
	dsn := rights(t, b, "late")
	before := setupRows(t, b.db)
	c := mysql.New(with(t, dsn, func(c *driver.Config) {
		const read = "SELECT s.NAME FROM performance_schema.setup_consumers s JOIN performance_schema."
		c.Addr = databasetest.RewritingProxy(t, c.Addr, read+"setup_objects", read+"no_such_table")
	}))
	if err := c.Start(t.Context()); err == nil || len(changed(before, setupRows(t, b.db))) == 0 {
		t.Fatalf("start: %v", err)
	}
	var session int
	if err := b.db.QueryRow("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'late'").Scan(&session); err != nil {
		t.Fatal(err)
	}
	mysqldtest.Exec(t, b.db, "ALTER USER 'late'@'%' ACCOUNT LOCK", fmt.Sprintf("KILL %d", session))
	ended := make(chan error, 1)
	go func() { ended <- c.Close() }()
	time.Sleep(time.Second)
	mysqldtest.Exec(t, b.db, "ALTER USER 'late'@'%' ACCOUNT UNLOCK")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	expectRestored(t, b, before, "the failed run has ended")
}

// Where marks cannot be written nothing is switched on: it could not be restored.
func nothingIsOnUnmarked(t *testing.T, b *bench) {
	dsn := rights(t, b, "unmarked")
	before := setupRows(t, b.db)
	for _, right := range []string{"INSERT", "DELETE"} {
		mysqldtest.Exec(t, b.db, "REVOKE "+right+" ON performance_schema.setup_objects FROM 'unmarked'@'%'")
		c := started(t, dsn)
		expectRestored(t, b, before, "a run without "+right)
		if notes := strings.Join(c.Notes(), "\n"); !strings.Contains(notes, "GRANT INSERT, DELETE ON performance_schema.setup_objects TO 'unmarked'@'%'") {
			t.Errorf("notes: %q", notes)
		}
		closed(t, c)
		mysqldtest.Exec(t, b.db, "GRANT "+right+" ON performance_schema.setup_objects TO 'unmarked'@'%'")
	}
}

// A server that refuses marks or locks for any other reason costs a run its instruments, or
// that it knows of other runs.
func serverRefuses(t *testing.T, b *bench) {
	before := setupRows(t, b.db)
	through := func(words ...string) sampling.Collector {
		t.Helper()
		return started(t, with(t, b.dsn, func(c *driver.Config) { c.Addr = databasetest.RewritingProxy(t, c.Addr, words...) }))
	}
	c := through("INTO performance_schema.setup_objects", "INTO performance_schema.no_such_table")
	expectRestored(t, b, before, "without marks")
	if notes := strings.Join(c.Notes(), "\n"); !strings.Contains(notes, "(the server refuses: ") {
		t.Errorf("notes: %q", notes)
	}
	closed(t, c)
	c = through("GET_LOCK(", "NO_SUCH_FUNCTION(", "IS_USED_LOCK(", "NO_SUCH_FUNCTION(")
	if marks(t, b) == 0 || len(c.Notes()) > 0 {
		t.Errorf("without locks: %d marks, notes %q", marks(t, b), c.Notes())
	}
	closed(t, c)
	expectRestored(t, b, before, "without locks")
}

// A full setup_objects limits what is switched on.
func TestMarksHaveNoRoom(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.4)
	const flavour, room = "mariadb", 3 // the code is the same for both, and MariaDB starts faster
	b := newBench(t, flavour, mysqldtest.StartInMemory(t, flavour, fmt.Sprintf("--performance-schema-setup-objects-size=%d", 20+room)))
	before := setupRows(t, b.db)
	found, err := mysql.Driver{}.Examine(t.Context(), b.dsn)
	c := started(t, b.dsn)
	if err != nil || len(found.Notes) == 0 || !slices.Equal(found.Notes, c.Notes()) {
		t.Errorf("examined: %q, %v; noted by a run: %q", found.Notes, err, c.Notes())
	}
	if on := len(changed(before, setupRows(t, b.db))); on != room {
		t.Errorf("%d rows are on, and there is room for %d marks", on, room)
	}
	if notes := strings.Join(c.Notes(), "\n"); !strings.Contains(notes, "setup_objects is full") {
		t.Errorf("notes: %q", notes)
	}
	closed(t, c)
	expectRestored(t, b, before, "the run has ended")
}

// A restart of the server has already reset what a killed run enabled. What is enabled
// after it is the server's own setup, and stays so.
func TestSetupOfARestartedServerStays(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.2)
	const flavour = "mariadb" // the code is the same for both, and MariaDB starts faster
	o := mysqld.Options{Dir: memorytest.Folder(t), Binary: mysqldtest.Binary(t, flavour)}
	server, err := mysqld.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, flavour, server)
	killed(t, b.dsn)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	o.Port, o.Args = server.Port(), []string{"--performance-schema-instrument=wait/%=ON", "--performance-schema-consumer-events-waits-current=ON"}
	if server, err = mysqld.Start(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Kill() })
	before := setupRows(t, b.db)
	closed(t, started(t, b.dsn))
	expectRestored(t, b, before, "a run after the restart has ended")
}

// After a failover the run restores what it has switched on at the new server, and nothing
// that was on there before. What it has left on at the old one, as after a planned switchover,
// it says, and the next run there restores it.
func TestSetupOfAnotherServerStays(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.3)
	const flavour = "mariadb" // the code is the same for both, and MariaDB starts faster
	benchOf := func() *bench { return newBench(t, flavour, mysqldtest.StartInMemory(t, flavour)) }
	old, next := benchOf(), benchOf()
	// On at the new server, and switched on by the run at the old one.
	mysqldtest.Exec(t, next.db, "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES' WHERE NAME LIKE 'wait/synch/%LOCK_log' OR NAME LIKE 'wait/synch/cond/sql/THD%'",
		"UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_waits_current'",
		"GRANT ALL ON *.* TO 'one'@'%' IDENTIFIED BY 'o'")
	mysqldtest.Exec(t, old.db, "GRANT ALL ON *.* TO 'one'@'%' IDENTIFIED BY 'o'")
	beforeOld, beforeNext := setupRows(t, old.db), setupRows(t, next.db)

	addr, failOver := databasetest.FailoverProxy(t, address(t, old), address(t, next))
	c := started(t, with(t, old.dsn, func(c *driver.Config) { c.User, c.Passwd, c.Addr = "one", "o", addr }))
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	failOver()
	polltest.Until(t, "the run has instruments on at the new server", func() bool { return marks(t, next) > 0 })
	if _, err := r.Stop(t); err != nil {
		t.Error(err)
	}
	closed(t, c)
	if notes := strings.Join(c.Notes(), "\n"); !strings.Contains(notes, "still on at the former one (") || !strings.Contains(notes, fmt.Sprintf(":%d, server_id ", old.server.Port())) || !strings.Contains(notes, "UPDATE performance_schema.setup_consumers") {
		t.Errorf("notes: %q", notes)
	}
	expectRestored(t, next, beforeNext, "the run has ended at the new server")
	if marks(t, old) == 0 {
		t.Error("nothing is marked at the old server")
	}
	closed(t, started(t, old.dsn))
	expectRestored(t, old, beforeOld, "another run has ended at the old server")
}

func address(t *testing.T, b *bench) string {
	t.Helper()
	c, err := driver.ParseDSN(b.dsn)
	if err != nil {
		t.Fatal(err)
	}
	return c.Addr
}
