package main

import (
	"context"
	"database/sql"
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

	"github.com/rogpeppe/go-internal/testscript"

	"assay/harness/servers/mysqld"
)

// TestScriptsAlone runs those that break a database, or look at all of it: each
// has one of its own.
func TestScriptsAlone(t *testing.T) {
	t.Parallel()
	for file, flavours := range map[string][]mysqld.Flavour{
		"together":    {mysqld.MariaDB, mysqld.MySQL},
		"connections": {mysqld.MariaDB, mysqld.MySQL},
		"disk":        {mysqld.MariaDB},
	} {
		for _, flavour := range flavours {
			t.Run(string(flavour), func(t *testing.T) {
				t.Parallel()
				testscript.Run(t, params(t, string(flavour), testscript.Params{Files: []string{"testdata/alone/" + file + ".txtar"}}))
			})
		}
	}
}

func databaseOf(ts *testscript.TestScript) *database { return ts.Value(serviceKey{}).(*service).db }

// query STATEMENT: its rows, a line each, are stdout.
func query(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: query STATEMENT")
	}
	rows, err := databaseOf(ts).root.Query(args[0])
	ts.Check(err)
	defer rows.Close()
	columns, err := rows.Columns()
	ts.Check(err)
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		ts.Check(rows.Scan(into...))
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = v.String
		}
		fmt.Fprintln(ts.Stdout(), strings.Join(words, " "))
	}
	ts.Check(rows.Err())
}

// occupy takes every connection that the database has to give, until the end of
// the script or vacate.
func occupy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: occupy")
	}
	db := databaseOf(ts)
	// The script's service has as many as it will ever need.
	var kept []*sql.Conn
	for range poolSize {
		conn, err := db.pool.Conn(context.Background())
		ts.Check(err)
		kept = append(kept, conn)
	}
	for _, conn := range kept {
		ts.Check(conn.Close())
	}
	var until context.Context
	until, db.vacate = context.WithCancel(context.Background())
	ts.Defer(db.vacate)
	full := make(chan struct{})
	go db.occupy(until, sync.OnceFunc(func() { close(full) }))
	<-full
}

// occupy takes what there is to have, told once there is no more, and what
// others give back later.
func (d *database) occupy(ctx context.Context, full func()) {
	var taken []*sql.DB
	defer func() {
		for _, one := range taken {
			_ = one.Close()
		}
	}()
	for ctx.Err() == nil {
		one, err := sql.Open("mysql", d.dsn("auditor", d.password))
		if err == nil {
			err = one.PingContext(context.Background())
		}
		if err == nil {
			taken = append(taken, one)
			continue
		}
		_ = one.Close()
		full()
		time.Sleep(10 * time.Millisecond)
	}
}

func vacate(ts *testscript.TestScript, _ bool, _ []string) { databaseOf(ts).vacate() }

// disk FOLDER SIZE: a file system of that size, which needs root.
func disk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: disk FOLDER SIZE")
	}
	folder := ts.MkAbs(args[0])
	ts.Check(os.Mkdir(folder, 0o755))
	root := func(words ...string) {
		if os.Getuid() != 0 {
			words = append([]string{"sudo", "--"}, words...)
		}
		if said, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			ts.Fatalf("%s: %v: %s", strings.Join(words, " "), err, said)
		}
	}
	root("mount", "-t", "tmpfs", "-o", "size="+args[1]+",mode=777", "tmpfs", folder)
	ts.Defer(func() { root("umount", folder) })
}

// idle: no process of the script's is left, but those that it names by a word of
// their command lines.
func idle(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: idle [WORD...]")
	}
	left := processesIn(ts)
	maps.DeleteFunc(left, func(_, line string) bool {
		return slices.ContainsFunc(args, func(word string) bool { return strings.Contains(line, word) })
	})
	if len(left) > 0 {
		ts.Fatalf("processes are left: %v", left)
	}
}

// end WORD: waits until no process of the script's has the word in its command
// line.
func end(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: end WORD")
	}
	awaitThat(ts, "processes of "+args[0]+" do not end", func() bool {
		for _, line := range processesIn(ts) {
			if strings.Contains(line, args[0]) {
				return false
			}
		}
		return true
	})
}

// await FILE: waits until it is there.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	awaitThat(ts, "there is no "+args[0], func() bool {
		found, _ := filepath.Glob(ts.MkAbs(args[0])) // the pattern is the script's
		return len(found) > 0
	})
}
