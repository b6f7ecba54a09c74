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
	"strings"
	"syscall"
	"testing"
	"time"

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
