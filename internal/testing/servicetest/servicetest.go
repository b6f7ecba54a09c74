// Package servicetest starts the reference service of assay-lab for tests.
//
// Input: the DSN of a database, and flags of assay-lab target. Output: the base URL of the
// service, until the test ends.
package servicetest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/program"
	"assay.dev/assay/internal/servers/process"
)

// Start starts the service in a process of its own.
func Start(t *testing.T, dsn string, flags ...string) (url string, pid int) {
	t.Helper()
	lab := os.Getenv(program.LabEnv)
	if lab == "" {
		t.Fatalf("%s is not set: run make test", program.LabEnv)
	}
	cmd := exec.Command(lab, append([]string{"target", "--listen", "127.0.0.1:0", "--drain-timeout", "2s"}, flags...)...)
	cmd.Env = append(process.WithoutSecrets(), "ASSAY_DB="+dsn)
	said, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = stderr
	child, err := process.Start(cmd, process.Tied)
	_ = stderr.Close() // the child has its own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Stop(10 * time.Second); _ = said.Close() }) // with a killed database it ends with an error
	lines := bufio.NewScanner(said)
	var before []string
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			go func() {
				for lines.Scan() { // what it logs later fills no pipe
				}
			}()
			return address, cmd.Process.Pid
		}
		before = append(before, lines.Text())
	}
	t.Fatalf("the reference service has ended: %s", strings.Join(before, "\n"))
	return "", 0
}
