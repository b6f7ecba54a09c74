//go:build live

package mysqld_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
)

// helperEnv makes the test binary a process that starts a server, prints its pid and
// then waits to be killed ("wait") or exits ("leave").
const helperEnv = "ASSAY_TEST_DBSERVER_HELPER"

func TestMain(m *testing.M) {
	if what := os.Getenv(helperEnv); what != "" {
		os.Exit(help(what))
	}
	os.Exit(m.Run())
}

func help(what string) int {
	b, err := mysqld.Probe(os.Args[2])
	if err == nil {
		var s *mysqld.Server
		s, err = mysqld.Start(context.Background(), mysqld.Options{Dir: os.Args[1], Binary: b, Detach: what == "leave"})
		if err == nil {
			fmt.Println(s.Pid())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if what == "wait" {
		select {}
	}
	return 0
}

// helper starts such a process on dir and returns it with the server's pid.
func helper(t *testing.T, what, dir, flavour string) (*exec.Cmd, int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir, mysqldtest.Binary(t, flavour).Path)
	cmd.Env = append(os.Environ(), helperEnv+"="+what)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	var pid int
	if _, err := fmt.Sscan(line, &pid); err != nil {
		t.Fatalf("helper did not start a server: %q", line)
	}
	return cmd, pid
}

func query1(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	var v sql.NullString
	if err := db.QueryRowContext(t.Context(), query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v.String
}

// noServerOn fails the test if a process with dir in its command line lives.
func noServerOn(t *testing.T, dir string) {
	t.Helper()
	polltest.Until(t, "no server runs on "+dir, func() bool { return len(processesOn(t, dir)) == 0 })
}

func processesOn(t *testing.T, dir string) (found []string) {
	t.Helper()
	pids, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		b, _ := os.ReadFile("/proc/" + pid.Name() + "/cmdline")
		line := strings.ReplaceAll(string(b), "\x00", " ")
		if strings.Contains(line, "--datadir="+dir+"/") {
			found = append(found, line)
		}
	}
	return found
}
