//go:build live

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

	"assay/harness/internal/testing/budget"
	"assay/harness/observe/collect/mysql"
	"assay/harness/observe/collect/sampling"
	"assay/harness/observe/collect/sampling/samplingtest"
	"assay/harness/observe/metric"
	"assay/harness/polltest"
	"assay/harness/servers/memorytest"
	"assay/harness/servers/mysqld"
	"assay/harness/servers/mysqld/mysqldtest"
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

// startedWith starts a collector whose journal is in this folder.
func startedWith(t *testing.T, dsn, folder string) *mysql.Collector {
	t.Helper()
	c := mysql.New(dsn, folder)
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

// Environment variables that make this test binary run collectAndWait.
const (
	collectEnv = "ASSAY_TEST_COLLECT" // DSN
	journalEnv = "ASSAY_TEST_JOURNAL"
)

// collectAndWait starts a collector and waits until the process is killed.
func collectAndWait(dsn string) int {
	if err := mysql.New(dsn, os.Getenv(journalEnv)).Start(context.Background()); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("started")
	select {}
}

// killed starts a run in another process and kills it (kill -9).
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
	line, _ := bufio.NewReader(out).ReadString('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if line != "started\n" {
		t.Fatalf("the process printed %q", line)
	}
}

// journals lists the journal files in a folder.
func journals(t *testing.T, folder string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(folder, ".*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// expectSetup compares the setup with an earlier one.
func expectSetup(t *testing.T, b *bench, want map[string]string, when string) {
	t.Helper()
	if diff := changed(want, setupRows(t, b.db)); len(diff) > 0 {
		t.Errorf("%s: the setup differs: %q", when, diff)
	}
}

// leftEnabled returns the SQL in the note of a run that left instruments enabled.
func leftEnabled(c *mysql.Collector) (sql string, noted bool) {
	for _, note := range c.Notes() {
		if strings.Contains(note, "stay on") {
			_, sql, _ = strings.Cut(note, "run as an administrator: ")
			return sql, true
		}
	}
	return "", false
}

func shared(c *mysql.Collector) bool { return slices.Contains(c.Notes(), sampling.SharedServer) }

// Of two concurrent runs, the one that ends first leaves everything enabled and adds a
// note; the one that ends last restores it.
func twoRunsAtOnce(t *testing.T, b *bench) {
	mysqldtest.Exec(t, b.db, mixedSetup...)
	before, folder := setupRows(t, b.db), t.TempDir()
	first := startedWith(t, b.dsn, folder)
	during := setupRows(t, b.db)
	if shared(first) {
		t.Error("the only run has the note of a shared server")
	}
	second := startedWith(t, b.dsn, folder)
	expectSetup(t, b, during, "both run")
	closed(t, first)
	expectSetup(t, b, during, "the first has ended")
	if _, noted := leftEnabled(first); !noted || !shared(first) || !shared(second) {
		t.Errorf("notes: %q and %q", first.Notes(), second.Notes())
	}
	closed(t, second)
	expectSetup(t, b, before, "both have ended")
	if _, noted := leftEnabled(second); noted {
		t.Errorf("the second has restored the setup, and notes: %q", second.Notes())
	}
	if left := journals(t, folder); len(left) > 0 {
		t.Errorf("journals are left: %q", left)
	}
}

// A run that does not know the former setup restores nothing. A run with the journal
// restores it, or an administrator with the SQL of the note.
func twoRunsWithSeparateJournals(t *testing.T, b *bench) {
	mysqldtest.Exec(t, b.db, mixedSetup...)
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
	sql, noted := leftEnabled(first)
	if !noted {
		t.Fatalf("notes: %q", first.Notes())
	}
	for _, statement := range strings.Split(strings.TrimSuffix(sql, ";"), "; ") {
		mysqldtest.Exec(t, b.db, statement)
	}
	expectSetup(t, b, before, "the SQL of the note was run")
}

// When runs end at the same time, the last one restores the setup.
func runsEndAtOnce(t *testing.T, b *bench) { endAtOnce(t, b, 1) }

func endAtOnce(t *testing.T, b *bench, rounds int) {
	t.Helper()
	before, folder := setupRows(t, b.db), t.TempDir()
	for range rounds {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				c := mysql.New(b.dsn, folder)
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

// The first run notices a second one that starts and ends, and still has its waits
// afterwards.
func firstRunSeesTheSecond(t *testing.T, b *bench) {
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	second := startedWith(t, b.dsn, "")
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
	c := startedWith(t, b.dsn, "")
	if _, err := (mysql.Driver{}).Examine(t.Context(), b.dsn); err != nil {
		t.Error(err)
	}
	closed(t, c)
	expectSetup(t, b, before, "the run has ended")
	if shared(c) {
		t.Errorf("notes: %q", c.Notes())
	}
}

// What a killed run has enabled is restored by the next run that ends alone.
func killedRunIsRestored(t *testing.T, b *bench) {
	before, folder := setupRows(t, b.db), t.TempDir()
	killed(t, b.dsn, folder)
	if maps.Equal(setupRows(t, b.db), before) {
		t.Error("a killed run changed nothing, or restored it")
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

	// A folder that was created for the journal is removed with it.
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

// A user who may update only one of the setup tables restores what a killed run enabled
// there. What it enabled in the other one stays in the journal.
func killedRunIsRestoredAsRightsAllow(t *testing.T, b *bench) {
	mysqldtest.Exec(t, b.db, "CREATE USER 'some'@'%' IDENTIFIED BY 'rights'",
		"GRANT SELECT, UPDATE ON performance_schema.* TO 'some'@'%'")
	before, folder := setupRows(t, b.db), t.TempDir()
	dsn := with(t, b.dsn, func(c *driver.Config) { c.User, c.Passwd = "some", "rights" })
	remaining := func() (consumers, instruments, files int) {
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
	if consumers, instruments, files := remaining(); consumers == 0 || instruments == 0 || files != 1 {
		t.Fatalf("a killed run left %d consumers, %d instruments and %d files", consumers, instruments, files)
	}
	mysqldtest.Exec(t, b.db, "REVOKE UPDATE ON performance_schema.* FROM 'some'@'%'",
		"GRANT UPDATE ON performance_schema.setup_instruments TO 'some'@'%'")
	closed(t, startedWith(t, dsn, folder))
	if consumers, instruments, files := remaining(); consumers == 0 || instruments != 0 || files != 1 {
		t.Errorf("left are %d consumers, %d instruments and %d files", consumers, instruments, files)
	}
	mysqldtest.Exec(t, b.db, "GRANT UPDATE ON performance_schema.setup_consumers TO 'some'@'%'")
	closed(t, startedWith(t, dsn, folder))
	if consumers, instruments, files := remaining(); consumers+instruments+files != 0 {
		t.Errorf("left are %d consumers, %d instruments and %d files", consumers, instruments, files)
	}
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
	b, folder := newBench(t, flavour, server), t.TempDir()
	killed(t, b.dsn, folder)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(4 * time.Second) // longer than restartTolerance
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
