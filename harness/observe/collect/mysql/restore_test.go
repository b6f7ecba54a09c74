package mysql_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"assay/harness/observe/collect/mysql"
	"assay/harness/observe/collect/sampling"
	"assay/harness/observe/metric"
	"assay/harness/servers/memorytest"
	"assay/harness/servers/mysqld"
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

// startedWith starts the collector of a run whose journal is in a folder.
func startedWith(t *testing.T, dsn, folder string) *mysql.Collector {
	t.Helper()
	c := mysql.New(dsn, mysql.Options{Schema: schema, Journal: folder})
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

// Environment of a process of this test that starts a collector and waits.
const (
	collectEnv = "ASSAY_TEST_COLLECT" // DSN
	journalEnv = "ASSAY_TEST_JOURNAL"
)

// collectAndWait is that process.
func collectAndWait(dsn string) int {
	if err := mysql.New(dsn, mysql.Options{Schema: schema, Journal: os.Getenv(journalEnv)}).Start(context.Background()); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("started")
	select {}
}

// killed is a run whose process is killed (kill -9) while it collects.
func killed(t *testing.T, dsn, folder string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), collectEnv+"="+dsn, journalEnv+"="+folder)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, _ := bufio.NewReader(out).ReadString('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if said != "started\n" {
		t.Fatalf("the process said %q", said)
	}
}

// journals are the files in a folder that say what is to be restored.
func journals(t *testing.T, folder string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(folder, ".*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// expectSetup compares the setup with what it was.
func expectSetup(t *testing.T, b *bench, want map[string]string, when string) {
	t.Helper()
	if off := changed(want, setupRows(t, b.db)); len(off) > 0 {
		t.Errorf("%s: the setup differs: %q", when, off)
	}
}

// stayOn is the note of a run that leaves instruments on, up to its SQL.
func stayOn(c *mysql.Collector) (sql string, noted bool) {
	for _, note := range c.Notes() {
		if strings.Contains(note, "stay on") {
			_, sql, _ = strings.Cut(note, "run as an administrator: ")
			return sql, true
		}
	}
	return "", false
}

func shared(c *mysql.Collector) bool { return slices.Contains(c.Notes(), sampling.SharedServer) }

// Of two runs at once, the one that ends first leaves everything on and says so; the
// one that ends alone restores it.
func twoRunsAtOnce(t *testing.T, b *bench) {
	mysqldtest.Exec(t, b.db, odd...)
	before, folder := setupRows(t, b.db), t.TempDir()
	first := startedWith(t, b.dsn, folder)
	during := setupRows(t, b.db)
	if shared(first) {
		t.Error("the only run is not alone")
	}
	second := startedWith(t, b.dsn, folder)
	expectSetup(t, b, during, "both run")
	closed(t, first)
	expectSetup(t, b, during, "the first has ended")
	if _, noted := stayOn(first); !noted || !shared(first) || !shared(second) {
		t.Errorf("notes: %q and %q", first.Notes(), second.Notes())
	}
	closed(t, second)
	expectSetup(t, b, before, "both have ended")
	if _, noted := stayOn(second); noted {
		t.Errorf("the second has restored, and says: %q", second.Notes())
	}
	if left := journals(t, folder); len(left) > 0 {
		t.Errorf("journals are left: %q", left)
	}
}

// A run that does not know how the setup was changes nothing; who has the journal
// restores it, or an administrator with the SQL of the note.
func twoRunsWithJournalsOfTheirOwn(t *testing.T, b *bench) {
	mysqldtest.Exec(t, b.db, odd...)
	before, folder := setupRows(t, b.db), t.TempDir()
	both := func(folder string) (first *mysql.Collector, during map[string]string) {
		t.Helper()
		first = startedWith(t, b.dsn, folder)
		second := startedWith(t, b.dsn, t.TempDir())
		during = setupRows(t, b.db)
		closed(t, first)
		closed(t, second)
		expectSetup(t, b, during, "both have ended")
		return first, during
	}
	_, during := both(folder)
	closed(t, startedWith(t, b.dsn, t.TempDir()))
	expectSetup(t, b, during, "a third has ended")
	closed(t, startedWith(t, b.dsn, folder))
	expectSetup(t, b, before, "one with the journal has ended")

	first, _ := both("")
	sql, noted := stayOn(first)
	if !noted {
		t.Fatalf("notes: %q", first.Notes())
	}
	for _, statement := range strings.Split(strings.TrimSuffix(sql, ";"), "; ") {
		mysqldtest.Exec(t, b.db, statement)
	}
	expectSetup(t, b, before, "the SQL of the note was run")
}

// All at once: whoever is last knows it.
func runsEndAtOnce(t *testing.T, b *bench) {
	before, folder := setupRows(t, b.db), t.TempDir()
	for range 3 {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				c := mysql.New(b.dsn, mysql.Options{Schema: schema, Journal: folder})
				if err := c.Start(context.Background()); err != nil {
					t.Error(err)
				}
				closed(t, c)
			})
		}
		all.Wait()
		expectSetup(t, b, before, "all have ended")
		if left := journals(t, folder); len(left) > 0 {
			t.Errorf("journals are left: %q", left)
		}
	}
}

// The run that was there first hears of a second that comes and goes, and keeps
// its waits after that.
func firstRunSeesTheSecond(t *testing.T, b *bench) {
	c := started(t, b.dsn)
	r := start(t, c)
	second := startedWith(t, b.dsn, "")
	for deadline := time.Now().Add(20 * time.Second); !shared(c); time.Sleep(50 * time.Millisecond) {
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
}

// Who looks at the server, or describes it, is no run.
func lookingIsNoRun(t *testing.T, b *bench) {
	before := setupRows(t, b.db)
	looks := collector(t, b.dsn)
	if _, err := looks.Describe(t.Context()); err != nil { // and stays connected
		t.Fatal(err)
	}
	c := startedWith(t, b.dsn, "")
	if _, err := mysql.Examine(t.Context(), b.dsn); err != nil {
		t.Error(err)
	}
	closed(t, c)
	expectSetup(t, b, before, "the run has ended")
	if shared(c) {
		t.Errorf("notes: %q", c.Notes())
	}
}

// What a killed run has switched on the next one restores that ends alone.
func killedRunIsRestored(t *testing.T, b *bench) {
	before, folder := setupRows(t, b.db), t.TempDir()
	killed(t, b.dsn, folder)
	if maps.Equal(setupRows(t, b.db), before) {
		t.Error("a killed run has restored something")
	}
	all := journals(t, folder)
	if len(all) != 1 {
		t.Fatalf("the journal is %q", all)
	}
	cfg, err := driver.ParseDSN(b.dsn)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(all[0])
	if err != nil || strings.Contains(string(text), cfg.Passwd) {
		t.Errorf("the journal holds a password: %s, %v", text, err)
	}
	other := filepath.Join(folder, ".instruments-other.json")
	text = []byte(strings.Replace(string(text), cfg.Addr, "elsewhere:3306", 1))
	if err := os.WriteFile(other, text, 0o600); err != nil {
		t.Fatal(err)
	}
	closed(t, startedWith(t, b.dsn, folder))
	expectSetup(t, b, before, "the next run has ended")
	if left := journals(t, folder); !slices.Equal(left, []string{other}) {
		t.Errorf("journals %q", left)
	}
	if left, err := os.ReadFile(other); err != nil || string(left) != string(text) {
		t.Errorf("the journal of another database is %s, %v", left, err)
	}

	// A folder that was made for the journal goes with it.
	folder = filepath.Join(folder, "runs")
	next := startedWith(t, b.dsn, folder)
	if len(journals(t, folder)) != 1 {
		t.Error("there is no journal")
	}
	closed(t, next)
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}

// A user who may update one of the setup tables restores what a killed run left in
// it, and what is left in the other stays in the journal.
func killedRunIsRestoredByRights(t *testing.T, b *bench) {
	mysqldtest.Exec(t, b.db, "CREATE USER 'some'@'%' IDENTIFIED BY 'rights'",
		"GRANT SELECT, UPDATE ON performance_schema.* TO 'some'@'%'")
	before, folder := setupRows(t, b.db), t.TempDir()
	dsn := with(t, b.dsn, func(c *driver.Config) { c.User, c.Passwd = "some", "rights" })
	left := func() (consumers, instruments, files int) {
		t.Helper()
		for _, name := range changed(before, setupRows(t, b.db)) {
			if strings.Contains(name, "/") {
				instruments++
			} else {
				consumers++
			}
		}
		return consumers, instruments, len(journals(t, folder))
	}
	killed(t, dsn, folder)
	if consumers, instruments, files := left(); consumers == 0 || instruments == 0 || files != 1 {
		t.Fatalf("a killed run left %d consumers, %d instruments and %d files", consumers, instruments, files)
	}
	mysqldtest.Exec(t, b.db, "REVOKE UPDATE ON performance_schema.* FROM 'some'@'%'",
		"GRANT UPDATE ON performance_schema.setup_instruments TO 'some'@'%'")
	closed(t, startedWith(t, dsn, folder))
	if consumers, instruments, files := left(); consumers == 0 || instruments != 0 || files != 1 {
		t.Errorf("left are %d consumers, %d instruments and %d files", consumers, instruments, files)
	}
	mysqldtest.Exec(t, b.db, "GRANT UPDATE ON performance_schema.setup_consumers TO 'some'@'%'")
	closed(t, startedWith(t, dsn, folder))
	if consumers, instruments, files := left(); consumers+instruments+files != 0 {
		t.Errorf("left are %d consumers, %d instruments and %d files", consumers, instruments, files)
	}
}

// A server that was restarted has forgotten what a killed run switched on. What is
// on in it by then is its own setup, and stays on.
func TestSetupOfARestartedServerStays(t *testing.T) {
	t.Parallel()
	const flavour = "mariadb" // the same code for both, and the quicker start
	o := mysqld.Options{Dir: memorytest.Folder(t), Binary: mysqldtest.Binary(t, flavour)}
	server, err := mysqld.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b, folder := newBench(t, flavour, server.DSN()), t.TempDir()
	killed(t, b.dsn, folder)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(4 * time.Second) // a start is known to 3 s
	o.Port, o.Args = server.Port(), []string{"--performance-schema-instrument=wait/%=ON", "--performance-schema-consumer-events-waits-current=ON"}
	if server, err = mysqld.Start(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Kill() })
	before := setupRows(t, b.db)
	closed(t, startedWith(t, b.dsn, folder))
	expectSetup(t, b, before, "a run after the restart has ended")
	if left := journals(t, folder); len(left) > 0 {
		t.Errorf("journals are left: %q", left)
	}
}
