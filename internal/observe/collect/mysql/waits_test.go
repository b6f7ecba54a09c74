//go:build live

package mysql_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/internal/testing/samplingtest"
)

// DDL that waits for a transaction.
func metadataLock(t *testing.T, b *bench) {
	// The instruments must also show sessions that were opened before they were enabled.
	ddl, err := b.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ddl.Close()
	c := started(t, b.dsn)
	tx, err := b.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("UPDATE item SET n = 1 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := ddl.ExecContext(context.Background(), "ALTER TABLE item ADD COLUMN x INT")
		done <- err
	}()
	polltest.Until(t, "the DDL waits", func() bool {
		var n int
		err := b.db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'Waiting for table metadata lock'").Scan(&n)
		return err == nil && n > 0
	})
	r := samplingtest.Start(t, c)
	r.Await(t, 3)
	s, err := r.Stop(t)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	event := "lock/metadata/sql/mdl"
	if b.flavour == "mariadb" {
		event = "synch/cond/sql/MDL_context::COND_wait_status"
	}
	if n := s.Total(metric.DBSession, "class", "metadata lock", "event", event); n < 0.7*s.Total(metric.DBSample) {
		t.Errorf("a metadata lock was seen %v times in %v samples:\n%s", n, s.Total(metric.DBSample), s.Describe())
	}
}

// On MariaDB the text of a running statement and the DIGEST_TEXT give the same label, and
// prepared statements are counted.
func digestsOfSamplesAndTimesAgree(t *testing.T, b *bench) {
	mysqldtest.Exec(t, b.db, "CREATE TABLE log (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(50), at DATETIME, v DOUBLE)")
	mysqldtest.Exec(t, b.db, "INSERT INTO log (name, v) VALUES ('a', 1), ('b', 2), ('c', 3)") // SLEEP is called for each group
	for name, next := range map[string]func() string{
		"insert of many rows": func() string {
			return "INSERT INTO log (name, at, v) VALUES ('it''s', NOW(), -1.5), (\"b\", NULL, 2), ('c', '2026-01-01', 0x10)"
		},
		"select with a list": func() string {
			return "select /* why */ `name`, SUM(v) + SLEEP(0.002) from log where id IN (1,2, 3) and name like 'x%' or name is not null group by name order by 2 desc limit 5"
		},
		"upsert": func() string {
			return "insert into item (id, n) values (3, 4) on duplicate key update n = n + values(n)"
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := started(t, b.dsn)
			r := samplingtest.Start(t, c)
			r.Await(t, 1)
			stopLoad := samplingtest.Load(t, b.db, 4, samplingtest.Brief, next)
			r.Until(t, "twenty sessions are seen", func(s samplingtest.Result) bool { return s.Total(metric.DBSession) >= 20 })
			s, err := r.Stop(t)
			stopLoad()
			if err != nil {
				t.Fatal(err)
			}
			digest := s.TopStatement().Label("digest")
			if part, all := s.Total(metric.DBSession, "digest", digest), s.Total(metric.DBSession); part < 0.8*all || all == 0 {
				t.Errorf("digest %s has %v of %v sessions:\n%s", digest, part, all, s.Describe())
			}
		})
	}
	t.Run("prepared", func(t *testing.T) {
		c := started(t, b.dsn)
		stmt, err := b.db.Prepare("UPDATE item SET n = n + ? + SLEEP(0.01) WHERE id = ?")
		if err != nil {
			t.Fatal(err)
		}
		r := samplingtest.Start(t, c)
		r.Await(t, 1)
		const executed = 50
		begin := time.Now()
		for i := range executed {
			if _, err := stmt.Exec(1, i); err != nil {
				t.Fatal(err)
			}
		}
		// The server counts a statement after it has answered.
		r.Until(t, "all statements are counted", func(s samplingtest.Result) bool { return s.Total(metric.DBStatements) >= executed })
		ran := float64(time.Since(begin).Milliseconds())
		s, err := r.Stop(t)
		if err != nil {
			t.Fatal(err)
		}
		if counted := s.Total(metric.DBStatements); counted > executed+5 {
			t.Errorf("%v statements counted, %d executed:\n%s", counted, executed, s.Describe())
		}
		if took := s.Total(metric.DBStatementTime); took < executed*10 || took > ran {
			t.Errorf("%v ms in statements, each of which sleeps for 10 ms; they ran for %v ms in all", took, ran)
		}
	})
}

// Statements for which the digest table has no room are counted as "other", with a note.
func TestDigestsOverflow(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.3)
	digestsOverflow(t, "mariadb")
}

func digestsOverflow(t *testing.T, flavour string) {
	t.Helper()
	b := newBench(t, flavour, mysqldtest.StartInMemory(t, flavour, "--performance-schema-digests-size=5"))
	mysqldtest.Exec(t, b.db, "DO 1", "DO 1 + 1", "DO 1 + 1 + 1", "DO 1 + 1 + 1 + 1", "DO 1 + 1 + 1 + 1 + 1")
	c := started(t, b.dsn)
	r := samplingtest.Start(t, c)
	r.Await(t, 1)
	// One session: the servers do not count those that end at the same time exactly, and
	// lose all that end while a thread is suspended in the middle of counting.
	stopLoad := b.load(t, 1, update)
	r.Await(t, 12)
	stopLoad()
	s, err := r.Stop(t)
	if err != nil {
		t.Fatal(err)
	}
	updates, other := s.Total(metric.DBCounter, "name", "Com_update"), s.Total(metric.DBStatements, "digest", "other")
	if other < updates || updates == 0 {
		t.Errorf("%v updates, %v of the digest other:\n%s", updates, other, s.Describe())
	}
	if notes := strings.Join(c.Notes(), "\n"); !strings.Contains(notes, "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest") {
		t.Errorf("notes: %q", notes)
	}
}
