package processtest

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"

	"assay.dev/assay/internal/servers/process"
)

// Start starts a command, which is killed with the test, and with it all processes
// of its group.
func Start(t testing.TB, cmd *exec.Cmd) *process.Child {
	t.Helper()
	child, err := process.Start(cmd, process.Tied)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Kill(-child.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Errorf("end %s: %v", cmd, err)
		}
		<-child.Done()
	})
	return child
}
