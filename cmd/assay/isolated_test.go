//go:build live

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

	"assay.dev/assay/internal/servers/mysqld"
)

// TestIsolatedScripts runs the scripts that break a database, or compare its whole
// state: each has a database of its own.
func TestIsolatedScripts(t *testing.T) {
	t.Parallel()
	for file, flavour := range map[string]mysqld.Flavour{
		"concurrent_runs": mysqld.MySQL,
		"connections":     mysqld.MariaDB,
		"disk":            mysqld.MariaDB,
		"few_connections": mysqld.MariaDB,
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			testscript.Run(t, params(t, string(flavour), testscript.Params{Files: []string{"testdata/isolated/" + file + ".txtar"}}))
		})
	}
}

func scriptDatabase(ts *testscript.TestScript) *database { return ts.Value(serviceKey{}).(*service).db }

// query STATEMENT prints the result's rows to stdout, a line each.
func query(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: query STATEMENT")
	}
	rows, err := scriptDatabase(ts).root.Query(args[0])
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

// take-connections takes every connection that the database has left, until
// release-connections or the end of the script.
func takeConnections(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: take-connections")
	}
	db := scriptDatabase(ts)
	// The script's service has opened its whole pool by then.
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
	until, db.release = context.WithCancel(context.Background())
	ts.Defer(db.release)
	full := make(chan struct{})
	go db.takeConnections(until, sync.OnceFunc(func() { close(full) }))
	<-full
}

// takeConnections takes all connections, including those that others close later,
// until ctx is done. It calls full whenever none is left.
func (d *database) takeConnections(ctx context.Context, full func()) {
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

// release-connections closes the connections of take-connections.
func releaseConnections(ts *testscript.TestScript, _ bool, _ []string) { scriptDatabase(ts).release() }

// mount-tmpfs FOLDER SIZE [INODES] mounts a file system of that size, and for that many
// files, which needs root.
func mountTmpfs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: mount-tmpfs FOLDER SIZE [INODES]")
	}
	options := "mode=777,size=" + args[1]
	if len(args) == 3 {
		options += ",nr_inodes=" + args[2]
	}
	folder := ts.MkAbs(args[0])
	ts.Check(os.Mkdir(folder, 0o755))
	root := func(words ...string) {
		if os.Getuid() != 0 {
			words = append([]string{"sudo", "--"}, words...)
		}
		if output, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			ts.Fatalf("%s: %v: %s", strings.Join(words, " "), err, output)
		}
	}
	root("mount", "-t", "tmpfs", "-o", options, "tmpfs", folder)
	ts.Defer(func() { root("umount", "--lazy", folder) }) // a process of a failed script may still use it
}

// no-processes [WORD...] fails if a process of the script is left, except those with
// one of the words in their command lines.
func noProcesses(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: no-processes [WORD...]")
	}
	remaining := scriptProcesses(ts)
	maps.DeleteFunc(remaining, func(_, line string) bool {
		return slices.ContainsFunc(args, func(word string) bool { return strings.Contains(line, word) })
	})
	if len(remaining) > 0 {
		ts.Fatalf("processes are left: %v", remaining)
	}
}

// await-file PATTERN waits until a file matches the pattern.
func awaitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await-file PATTERN")
	}
	waitUntil(ts, args[0]+" does not exist", func() bool {
		found, _ := filepath.Glob(ts.MkAbs(args[0])) // the patterns are well formed
		return len(found) > 0
	})
}
