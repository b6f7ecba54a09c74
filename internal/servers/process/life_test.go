//go:build live

package process

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/internal/testing/budget"
)

const helperEnv = "ASSAY_TEST_PROCESS_HELPER"

// TestMain also serves as a parent that starts a child, prints its identity and
// then waits for its own end.
func TestMain(m *testing.M) {
	life := os.Getenv(helperEnv)
	if life == "" {
		os.Exit(m.Run())
	}
	n, _ := strconv.Atoi(life)
	c, err := Start(exec.Command("sleep", "60"), Life(n))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.PID, c.Started, c.Boot)
	select {}
}

// parent starts such a process and returns it with its child.
func parent(t *testing.T, life Life) (*exec.Cmd, Identity) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", helperEnv, life))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	var id Identity
	if _, err := fmt.Sscan(line, &id.PID, &id.Started, &id.Boot); err != nil {
		t.Fatalf("helper said %q: %v", line, err)
	}
	t.Cleanup(func() { _ = id.Kill() })
	return cmd, id
}

func TestLife(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	for _, c := range []struct {
		life     Life
		survives bool
	}{{Tied, false}, {TiedGently, false}, {Detached, true}} {
		cmd, child := parent(t, c.life)
		if !child.Alive() {
			t.Fatalf("life %d: the child is not alive", c.life)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		patience := time.Minute // with one that is to end
		if c.survives {
			patience = time.Second
		}
		if gone := child.awaitEnd(patience); gone == c.survives {
			t.Errorf("life %d: child gone %t after its parent was killed", c.life, gone)
		}
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	polite, err := Start(exec.Command("sleep", "60"), Tied)
	if err != nil {
		t.Fatal(err)
	}
	if err := polite.Stop(time.Minute); err != nil {
		t.Error(err)
	}
	if err := polite.Stop(time.Minute); err != nil {
		t.Errorf("again: %v", err)
	}
	var exit *exec.ExitError
	if err := polite.Err(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("ended by %v", err)
	}

	cmd := exec.Command("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	ignoring, err := Start(cmd, Tied)
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := ignoring.Stop(100 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("stop of a process that ignores SIGTERM: %v", err)
	}
	if ignoring.Alive() {
		t.Error("alive after Stop")
	}
	_ = r.Close()
}
