//go:build live

package networktest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/polltest"
)

// connect opens a TCP connection; both ends are closed when the test ends.
func connect(t *testing.T, from, to *Host) (client, server net.Conn) {
	t.Helper()
	l, err := to.Listen("tcp", netip.AddrPortFrom(to.Addr(), 0).String())
	if err != nil {
		t.Fatal(err)
	}
	if client, err = from.DialContext(t.Context(), "tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return client, server
}

// The round trip takes the delay of both ways at least, and no longer once the delay is
// gone.
func TestDelay(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	n := New(t)
	far := n.RemoteHost("far", Link{Delay: 50 * time.Millisecond})
	client, server := connect(t, n.Host("near"), far)
	echoed := make(chan struct{})
	go func() {
		defer close(echoed)
		_, _ = io.Copy(server, server)
	}()
	roundTrip := func() time.Duration {
		start, b := time.Now(), make([]byte, 1)
		if _, err := client.Write(b); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(client, b); err != nil {
			t.Fatal(err)
		}
		return time.Since(start)
	}
	for range 5 {
		if took := roundTrip(); took < 100*time.Millisecond {
			t.Errorf("a round trip took %s", took)
		}
	}
	far.SetLink(Link{})
	polltest.Until(t, "a round trip takes less than 100 ms", func() bool { return roundTrip() < 100*time.Millisecond })
	_ = client.Close()
	<-echoed
}

// TCP transfers all, in both directions, over a link that loses packets.
func TestLossOfTCP(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	n := New(t)
	a, b := connect(t, n.Host("near"), n.RemoteHost("far", Link{Loss: 0.05}))
	sent := make([]byte, 10_000_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(sent)
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		from, to := way[0].(*net.TCPConn), way[1]
		written := make(chan error, 1)
		go func() {
			_, err := from.Write(sent)
			written <- errors.Join(err, from.CloseWrite())
		}()
		got, err := io.ReadAll(to)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("received %d bytes of %d, the same: %t; %v", len(got), len(sent), bytes.Equal(got, sent), err)
		}
		if err := <-written; err != nil {
			t.Error(err)
		}
		info := tcpInfo(t, from)
		t.Logf("%d segments retransmitted", info.Total_retrans)
		if info.Total_retrans == 0 {
			t.Error("no segment was retransmitted")
		}
	}
}

func tcpInfo(t *testing.T, c *net.TCPConn) (info *unix.TCPInfo) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		info, failed = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return info
}

// The share that was asked for is lost of 2,000 datagrams, each way.
func TestLossOfDatagrams(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	const datagrams = 2000
	n := New(t)
	near, far := n.Host("near"), n.RemoteHost("far", Link{})
	for _, c := range []struct {
		loss           float64
		least, highest int // 5 standard deviations about the mean
		from, to       *Host
	}{
		{0, 0, 0, near, far},
		{0, 0, 0, far, near},
		{0.05, 51, 149, near, far},
		{0.05, 51, 149, far, near},
		{0.5, 888, 1112, far, near},
	} {
		far.SetLink(Link{Loss: c.loss})
		received, send := datagramSocket(t, c.to), datagramSocket(t, c.from)
		for i := range datagrams {
			if _, err := send.WriteTo(binary.BigEndian.AppendUint32(nil, uint32(i)), received.LocalAddr()); err != nil {
				t.Fatal(err)
			}
		}
		// Packets keep their order: after the last one no other arrives.
		var last atomic.Bool
		go func() {
			for ; !last.Load(); time.Sleep(20 * time.Millisecond) {
				_, _ = send.WriteTo(binary.BigEndian.AppendUint32(nil, datagrams), received.LocalAddr())
			}
		}()
		seen := map[uint32]bool{}
		for b := make([]byte, 4); !last.Load(); {
			if err := received.SetReadDeadline(time.Now().Add(limit)); err != nil {
				t.Fatal(err)
			}
			if _, _, err := received.ReadFrom(b); err != nil {
				t.Fatal(err)
			}
			i := binary.BigEndian.Uint32(b)
			last.Store(i == datagrams)
			seen[i] = true
		}
		lost := datagrams + 1 - len(seen)
		t.Logf("loss %g: %d of %d lost", c.loss, lost, datagrams)
		if lost < c.least || lost > c.highest {
			t.Errorf("loss %g: %d of %d datagrams were lost", c.loss, lost, datagrams)
		}
	}
}

// datagramSocket is a UDP socket that holds all datagrams of a test until they are read.
func datagramSocket(t *testing.T, h *Host) net.PacketConn {
	t.Helper()
	var c *net.UDPConn
	if err := h.Do(func() (err error) {
		c, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(h.Addr(), 0)))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20)
	}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return c
}

// What is sent after a cut arrives only after it, complete, and nothing can connect in
// the meantime.
func TestCut(t *testing.T) {
	t.Parallel()
	for name, join := range map[string]func(*Network) *Host{
		"cable": func(n *Network) *Host { return n.Host("cut") },
		"relay": func(n *Network) *Host { return n.RemoteHost("far", Link{Delay: 5 * time.Millisecond}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			budget.CPUs(t, 0.05)
			n := New(t)
			near, other, h := n.Host("near"), n.Host("other"), join(n)
			client, server := connect(t, near, h)
			const before, during = 1000, 200
			write := func(from, to int) {
				var numbers []byte
				for i := from; i < to; i++ {
					numbers = binary.BigEndian.AppendUint32(numbers, uint32(i))
				}
				if _, err := client.Write(numbers); err != nil {
					t.Fatal(err)
				}
			}
			arrived := make(chan time.Time, 1) // arrival of the first number that was sent during the cut
			read := make(chan error, 1)
			go func() {
				b := make([]byte, 4)
				for i := range uint32(before + during) {
					if _, err := io.ReadFull(server, b); err != nil {
						read <- err
						return
					}
					if binary.BigEndian.Uint32(b) != i {
						read <- errors.New("a number is missing")
						return
					}
					if i == before {
						arrived <- time.Now()
					}
				}
				read <- nil
			}()
			write(0, before)
			h.Cut()
			write(before, before+during)
			// A host that is asked for its hardware address in vain is unreachable after 3 s.
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			if _, err := other.DialContext(ctx, "tcp", netip.AddrPortFrom(h.Addr(), 1).String()); !os.IsTimeout(err) {
				t.Errorf("connect during the cut: %v", err)
			}
			<-ctx.Done()
			restored := time.Now()
			h.Restore()
			select {
			case err := <-read:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(limit):
				t.Fatal("the stream does not continue")
			}
			if at := <-arrived; at.Before(restored) {
				t.Errorf("what was sent during the cut arrived %s before its end", restored.Sub(at))
			}
			if _, err := other.DialContext(t.Context(), "tcp", netip.AddrPortFrom(h.Addr(), 1).String()); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("connect after the cut: %v", err)
			}
		})
	}
}
