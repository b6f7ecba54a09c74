package process

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
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
		if gone := child.awaitEnd(2 * time.Second); gone == c.survives {
			t.Errorf("life %d: child gone %t after its parent was killed", c.life, gone)
		}
	}
}

func TestIdentityIsNotThePid(t *testing.T) {
	self, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !self.Alive() {
		t.Error("we are not alive")
	}
	other := self
	other.Started++
	rebooted := self
	rebooted.Boot = "another"
	for name, id := range map[string]Identity{"reused": other, "rebooted": rebooted, "zero": {}, "negative": {PID: -1}} {
		if id.Alive() {
			t.Errorf("%s is alive", name)
		}
		// If it were identified with this process, this would end the test.
		if id.PID > 0 {
			if err := id.Stop(time.Millisecond); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestStop(t *testing.T) {
	polite, err := Start(exec.Command("sleep", "60"), Tied)
	if err != nil {
		t.Fatal(err)
	}
	if err := polite.Stop(5 * time.Second); err != nil {
		t.Error(err)
	}
	if err := polite.Stop(5 * time.Second); err != nil {
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

func TestStartMissing(t *testing.T) {
	if _, err := Start(exec.Command("/no/such/program"), Tied); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestPorts(t *testing.T) {
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckPort(port); err != nil {
		t.Error(err)
	}
	for _, address := range []string{Address(port), net.JoinHostPort("", strconv.Itoa(port))} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckPort(port); !errors.Is(err, ErrPortTaken) || !strings.Contains(err.Error(), strconv.Itoa(port)) {
			t.Errorf("%s: error %v", address, err)
		}
		_ = l.Close()
	}
}

// A check disturbs neither another check nor a server that starts.
func TestCheckPortConcurrently(t *testing.T) {
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	var checks sync.WaitGroup
	for range 8 {
		checks.Go(func() {
			for range 200 {
				if err := CheckPort(port); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	checks.Wait()
}

// By chance, of so many ports two would be the same.
func TestFreePortsDiffer(t *testing.T) {
	seen := map[int]bool{}
	for i := range 500 {
		n := 1 + i%4
		first, err := FreePorts(n)
		if err != nil {
			t.Fatal(err)
		}
		for port := first; port < first+n; port++ {
			if seen[port] {
				t.Fatalf("port %d a second time", port)
			}
			seen[port] = true
		}
	}
}
