//go:build live

package firewall_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"assay.dev/assay/internal/servers/firewall"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/internal/testing/processtest"
)

// serverEnv makes the test binary the server to cut off, with its port and a peer's.
const serverEnv = "ASSAY_TEST_FIREWALL"

func TestMain(m *testing.M) {
	if ports := os.Getenv(serverEnv); ports != "" {
		serve(ports)
	}
	os.Exit(m.Run())
}

// serve echoes what it receives, at its port and on connections that it opens itself to
// its peer, one after another.
func serve(ports string) {
	var own, peer int
	if _, err := fmt.Sscan(ports, &own, &peer); err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", process.Address(own))
	if err != nil {
		panic(err)
	}
	echo := func(c net.Conn) { _, _ = io.Copy(c, c) }
	go func() {
		for {
			if c, err := l.Accept(); err == nil {
				go echo(c)
			}
		}
	}()
	for range time.Tick(50 * time.Millisecond) {
		if c, err := net.DialTimeout("tcp", process.Address(peer), time.Second); err == nil {
			go echo(c)
		}
	}
}

// TestCut: no byte passes on the connections that a process had, neither those that it
// accepted nor those that it opened, and no connection is opened, until it joins again.
// Other processes are not affected.
func TestCut(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	own, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	peer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = peer.Close() }()
	opened := make(chan net.Conn, 10_000)
	go func() {
		for {
			c, err := peer.Accept()
			if err != nil {
				return
			}
			opened <- c
		}
	}()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d", serverEnv, own, peer.Addr().(*net.TCPAddr).Port))
	process.SetGroup(cmd, uint32(own))
	server := processtest.Start(t, cmd)
	var accepted net.Conn
	polltest.Until(t, "the server listens", func() bool {
		accepted, err = net.Dial("tcp", process.Address(own))
		return err == nil
	})
	connections := map[string]net.Conn{"accepted": accepted, "opened": <-opened}
	const patience = 300 * time.Millisecond
	echoes := func(c net.Conn, limit time.Duration) bool {
		_ = c.SetDeadline(time.Now().Add(limit))
		if _, err := c.Write([]byte{'x'}); err != nil {
			return false
		}
		_, err := c.Read(make([]byte, 1))
		return err == nil
	}
	for name, c := range connections {
		if !echoes(c, time.Minute) {
			t.Fatalf("the connection that the server %s does not work", name)
		}
	}

	table := fmt.Sprintf("assay_test_%d", os.Getpid())
	defer func() {
		if err := firewall.Join(table); err != nil {
			t.Error(err)
		}
	}()
	s := firewall.Server{PID: server.PID, Group: uint32(own), Ports: []int{own}}
	for range 2 { // it can be repeated
		if err := firewall.Cut(table, s); err != nil {
			t.Fatal(err)
		}
		// Connections are accepted in their order: those of before the cut come before this one.
		last, err := net.Dial("tcp", peer.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		for c := range opened {
			if c.RemoteAddr().String() == last.LocalAddr().String() {
				break
			}
		}
		_ = last.Close()
		for name, c := range connections {
			if echoes(c, patience) {
				t.Errorf("bytes pass on the connection that the server %s", name)
			}
		}
		if c, err := net.DialTimeout("tcp", process.Address(own), patience); err == nil {
			_ = c.Close()
			t.Error("the server accepts a connection")
		}
		if len(opened) > 0 {
			t.Error("the server opens a connection")
		}
	}
	if c, err := net.Dial("tcp", peer.Addr().String()); err != nil {
		t.Errorf("another process: %v", err)
	} else {
		_ = c.Close()
	}
	if found, err := firewall.Tables(table); err != nil || len(found) != 1 {
		t.Errorf("tables %q, %v", found, err)
	}

	for range 2 {
		if err := firewall.Join(table); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := firewall.Tables(table); err != nil || len(found) != 0 {
		t.Errorf("tables %q are left, %v", found, err)
	}
	for name, c := range connections {
		if !echoes(c, time.Minute) {
			t.Errorf("the connection that the server %s did not recover", name)
		}
	}
	<-opened
}
