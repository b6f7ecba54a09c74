//go:build live

package networktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/processtest"
)

// limit is only reached by a test that fails.
const limit = time.Minute

// greet is a server that names itself.
func greet(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, name) })
}

func get(t *testing.T, from *Host, url string) string {
	t.Helper()
	response, err := from.Client().Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// Hosts reach each other, by requests of this process and of commands, and not each
// other's loopback interface.
func TestHosts(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	n := New(t)
	hosts := map[string]*Host{
		"near": n.Host("near"), "second": n.Host("second"),
		"far": n.RemoteHost("far", Link{}), "second far": n.RemoteHost("second far", Link{Delay: time.Millisecond}),
	}
	for to, h := range hosts {
		url := h.Serve(greet(to)).URL
		own, err := h.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		for from, other := range hosts {
			if got := get(t, other, url); got != to {
				t.Errorf("%s got %q from %s", from, got, to)
			}
			out, err := other.Command(t.Context(), "curl", "--silent", url).Output()
			if err != nil || string(out) != to {
				t.Errorf("a command on %s got %q from %s: %v", from, out, to, err)
			}
			c, err := other.DialContext(t.Context(), "tcp", own.Addr().String())
			if err == nil {
				_ = c.Close()
			}
			if reached := err == nil; reached != (from == to) {
				t.Errorf("%s reached the loopback interface of %s %t: %v", from, to, reached, err)
			}
		}
	}
}

// No host reaches the machine, and the machine reaches no host.
func TestIsolation(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	before := interfaces(t)
	n := New(t)
	for _, h := range []*Host{n.Host("near"), n.RemoteHost("far", Link{})} {
		onMachine, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = onMachine.Close() }()
		if c, err := h.DialContext(t.Context(), "tcp", onMachine.Addr().String()); err == nil {
			t.Errorf("a host reached %s of the machine", c.RemoteAddr())
			_ = c.Close()
		}
		addresses, err := net.InterfaceAddrs()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range addresses {
			ip, err := netip.ParsePrefix(a.String())
			if err != nil {
				t.Fatal(err)
			}
			if ip.Addr().IsLoopback() || !ip.Addr().Is4() {
				continue
			}
			if _, err := h.DialContext(t.Context(), "tcp", netip.AddrPortFrom(ip.Addr(), 1).String()); !errors.Is(err, syscall.ENETUNREACH) {
				t.Errorf("a host has a route to %s: %v", ip, err)
			}
		}
		server := h.Serve(greet("host"))
		// Another network may answer at this address, or none.
		client := http.Client{Timeout: time.Second, Transport: &http.Transport{}}
		if response, err := client.Get(server.URL); err == nil {
			if body, _ := io.ReadAll(response.Body); string(body) == "host" {
				t.Error("the machine reached a host")
			}
			_ = response.Body.Close()
		}
		client.CloseIdleConnections()
	}
	if after := interfaces(t); after != before {
		t.Errorf("the machine's interfaces were %s, and are %s", before, after)
	}
}

func interfaces(t *testing.T) string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range all {
		names = append(names, fmt.Sprint(i.Index, i.Name))
	}
	return strings.Join(names, " ")
}

// Networks with the same addresses do not see each other.
func TestNetworksAreApart(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	first, second := New(t).Host("only"), New(t).Host("only")
	if first.Addr() != second.Addr() {
		t.Fatalf("addresses %s and %s", first.Addr(), second.Addr())
	}
	for name, h := range map[string]*Host{"first": first, "second": second} {
		if got := get(t, h, h.Serve(greet(name)).URL); got != name {
			t.Errorf("got %q from %s", got, name)
		}
	}
}

// A command keeps its pid, from its start to its end by a signal.
func TestCommand(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	h := New(t).Host("host")
	child := processtest.Start(t, h.Command(t.Context(), "sh", "-c", "echo $$ >&2; exec sleep 60"))
	if err := child.Stop(limit); err != nil {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := child.Err(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("ended by %v", err)
	}
	out, err := h.Command(t.Context(), "sh", "-c", "echo $$ $PPID").Output()
	var pid, parent int
	if _, scanned := fmt.Sscan(string(out), &pid, &parent); err != nil || scanned != nil || parent != syscall.Getpid() {
		t.Errorf("a command wrote %q, %v; this process is %d", out, err, syscall.Getpid())
	}
	if _, err := process.Start(h.Command(t.Context(), "no-such-program"), process.Tied); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("error of a missing program: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := h.Command(ctx, "sleep", "60")
	if err := cancelled.Start(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := cancelled.Wait(); err == nil {
		t.Error("a command whose context is done succeeded")
	}
}

// failure is the panic by which refuses ends a call.
type failure string

// refuses records the failure of a test that it stands for.
type refuses struct{ testing.TB }

func (refuses) Fatal(args ...any)                 { panic(failure(fmt.Sprint(args...))) }
func (refuses) Fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// refused is the text with which f ends the test.
func refused(t *testing.T, f func()) (text string) {
	t.Helper()
	defer func() {
		r := recover()
		said, ok := r.(failure)
		if r != nil && !ok {
			panic(r)
		}
		text = string(said)
	}()
	f()
	return ""
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	n := New(refuses{t})
	cable := n.Host("near")
	for name, c := range map[string]struct {
		f    func()
		want string
	}{
		"loss above 1":   {func() { n.RemoteHost("far", Link{Loss: 1.5}) }, "loss 1.5 must be in [0,1]"},
		"negative delay": {func() { n.RemoteHost("far", Link{Delay: -1}) }, "delay -1ns must not be negative"},
		"link of cable":  {func() { cable.SetLink(Link{}) }, "set link of host near: "},
	} {
		if text := refused(t, c.f); !strings.Contains(text, c.want) {
			t.Errorf("%s: refused with %q", name, text)
		}
	}
}

// Without the privilege, New says in one line what to do.
func TestWithoutRoot(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	runtime.LockOSThread() // privileges are a thread's
	defer runtime.UnlockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var all [2]unix.CapUserData
	if err := unix.Capget(&header, &all[0]); err != nil {
		t.Fatal(err)
	}
	without := all
	without[0].Effective &^= 1 << unix.CAP_SYS_ADMIN
	if err := unix.Capset(&header, &without[0]); err != nil {
		t.Fatal(err)
	}
	text := refused(t, func() { New(refuses{t}) })
	if err := unix.Capset(&header, &all[0]); err != nil {
		t.Fatal(err)
	}
	if want := "make network namespace: operation not permitted: run the tests as root"; text != want {
		t.Errorf("refused with %q", text)
	}
}
