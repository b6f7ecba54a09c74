package process

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

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
			for range 50 {
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
	for i := range 200 {
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

// No server listens yet on a port that another process was given.
func TestPortOfAnotherProcess(t *testing.T) {
	const env = "ASSAY_TEST_FREE_PORT"
	if os.Getenv(env) != "" {
		fmt.Println(FreePort())
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), env+"=1")
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	var port int
	if _, err := fmt.Fscan(out, &port); err != nil {
		t.Fatal(err)
	}
	if err := take(port, 1); !errors.Is(err, ErrPortTaken) {
		t.Errorf("while the other process runs: %v", err)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatalf("other process: %v", err)
	}
	if err := take(port, 1); err != nil {
		t.Errorf("after it has ended: %v", err)
	}
}
