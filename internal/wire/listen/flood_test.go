//go:build live

package listen_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/internal/wire/listen"
)

func TestWrongTokensBesideAClient(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	testWrongTokensBesideAClient(t, 200)
}

func testWrongTokensBesideAClient(t *testing.T, n int) {
	t.Helper()
	s := start(t, nil)
	end := s.beside(t, "127.0.0.1")
	var wait sync.WaitGroup
	var answered, cut atomic.Int64
	for range n { // 1,000 a second
		time.Sleep(time.Millisecond)
		wait.Go(func() {
			c := s.client(t, "127.0.0.1")
			defer c.CloseIdleConnections()
			switch got := c.post(t.Context(), "https", "wrong-"+token, "/", strings.NewReader("a")); {
			case got.err != nil:
				cut.Add(1)
			case got.status == http.StatusUnauthorized && got.closed:
				answered.Add(1)
			default:
				t.Errorf("%+v", got)
			}
		})
	}
	wait.Wait()
	end()
	t.Logf("%d wrong tokens were answered, %d connections closed: %v", answered.Load(), cut.Load(), s.Refused())
	if n := int64(s.Refused()[listen.NoToken]); n < answered.Load() || n == 0 {
		t.Errorf("counted %v", s.Refused())
	}
}

// crowd is many connections that do not show the token.
type crowd struct {
	wait   sync.WaitGroup
	opened atomic.Int64
	open   atomic.Int64 // opened and not closed by the server
}

// dial opens n connections from an address, sends each what say says and holds it until
// the server closes it.
func (c *crowd) dial(t *testing.T, s *server, from string, n int, say func(net.Conn)) {
	t.Helper()
	dialers := make(chan struct{}, 50)
	var dialed sync.WaitGroup
	for range n {
		dialers <- struct{}{}
		dialed.Add(1)
		c.wait.Go(func() {
			socket, err := s.dial(context.Background(), from)
			c.opened.Add(1)
			c.open.Add(1)
			defer c.open.Add(-1)
			<-dialers
			dialed.Done()
			if err != nil {
				return // reset already
			}
			if say != nil {
				say(socket)
			}
			_, _ = io.Copy(io.Discard, socket)
			_ = socket.Close()
		})
	}
	dialed.Wait()
}

func TestConnectionsHeldBesideAClient(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.15)
	testConnectionsHeldBesideAClient(t, 600)
}

func testConnectionsHeldBesideAClient(t *testing.T, n int) {
	t.Helper()
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	total := int(min(uint64(n), files.Cur*2/3)) // both ends are of this process
	limits := listen.Limits{Authorize: 2 * time.Second, Pending: total / 2, PendingPerAddress: total / 6, Burst: total / 3, Rate: 1}
	s := start(t, func(o *listen.Options) { o.Limits = limits })
	end := s.beside(t, "127.0.0.1")
	var c crowd
	c.dial(t, s, "127.0.0.1", total, nil)
	t.Logf("%d connections opened: %v", c.opened.Load(), s.Refused())
	polltest.Until(t, "no more than the limit are held", func() bool { return c.open.Load() <= int64(limits.PendingPerAddress) })
	c.wait.Wait() // the others are closed in time
	end()
	polltest.Until(t, "all are counted", func() bool {
		got := s.Refused()
		return got[listen.TooFast]+got[listen.TooMany]+got[listen.TooLate] == total
	})
	got := s.Refused()
	t.Logf("all closed: %v", got)
	if got[listen.TooFast] < total/2 || got[listen.TooLate] == 0 {
		t.Errorf("counted %v of %d", got, total)
	}
}

// Clients that are killed in their handshake are not refused; those that send none are.
func TestClientsThatLeaveInTheHandshake(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	s := start(t, nil)
	const hello = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
	leave := func(reset bool, first string) {
		c := s.connect(t, "127.0.0.1", true).(*net.TCPConn)
		if _, err := c.Write([]byte(first)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // the server reads it
		if reset {
			_ = c.SetLinger(0)
		}
		_ = c.Close()
	}
	for _, reset := range []bool{false, true} {
		leave(reset, hello)
	}
	leave(false, "\x16 is no handshake, whatever follows")
	polltest.Until(t, "the last one is refused", func() bool { return s.Refused()[listen.BadHandshake] > 0 })
	if got := s.Refused(); got[listen.BadHandshake] != 1 || len(got) != 1 {
		t.Errorf("counted %v", got)
	}
}

// A client without the token has the time of Authorize in all, whatever it sends.
func TestSlowHandshakesAndHeadersBesideAClient(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.2)
	s := start(t, func(o *listen.Options) { o.Limits = listen.Limits{Authorize: 2 * time.Second} })
	end := s.beside(t, "127.0.0.1")
	slowly := func(first, then string) func(net.Conn) {
		return func(c net.Conn) {
			for next := first; ; next = then {
				for i := range next {
					if _, err := c.Write([]byte(next[i : i+1])); err != nil {
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
			}
		}
	}
	const each = 30
	var c crowd
	c.dial(t, s, "127.0.0.1", each, slowly("GET / HTTP/1.1\r\nHost: a\r\n", "X: y\r\n"))
	c.dial(t, s, "127.0.0.1", each, slowly("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "x"))
	c.dial(t, s, "127.0.0.1", each, nil)
	c.wait.Wait()
	end()
	// The last ones may be counted a moment after they are closed.
	polltest.Until(t, "all are counted", func() bool { return s.Refused()[listen.TooLate] >= 3*each })
	if got := s.Refused(); got[listen.TooLate] != 3*each {
		t.Errorf("counted %v", got)
	}
}

// No byte of a body is read for a client without the token: it can send what the
// kernel buffers, and gets its answer nevertheless.
func TestLargeBodiesBesideAClient(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	s := start(t, nil)
	end := s.beside(t, "127.0.0.1")
	for _, scheme := range []string{"http", "https"} {
		for _, sized := range []bool{true, false} {
			c := s.client(t, "127.0.0.1")
			var sent atomic.Int64
			body := func() io.Reader {
				sent.Store(0)
				return io.TeeReader(io.LimitReader(repeat('a'), 1<<30), writerFunc(func(p []byte) (int, error) {
					sent.Add(int64(len(p)))
					return len(p), nil
				}))
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, scheme+"://"+s.Address().String()+"/large", body())
			if err != nil {
				t.Fatal(err)
			}
			if sized {
				r.ContentLength = 1 << 30
			}
			r.Header.Set("Authorization", "Bearer wrong-"+token)
			resp, err := c.Do(r)
			if err != nil {
				t.Fatalf("%s, with its length %t: %v", scheme, sized, err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized || sent.Load() > 64<<20 {
				t.Errorf("%s, with its length %t: %d after %d bytes", scheme, sized, resp.StatusCode, sent.Load())
			}
			got := c.post(t.Context(), scheme, token, "/large", body())
			if got.status != http.StatusRequestEntityTooLarge || sent.Load() > 16<<20+64<<20 {
				t.Errorf("%s with the token: %d bytes, %+v", scheme, sent.Load(), got)
			}
		}
	}
	end()
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestOtherAddressesAreNotLockedOut(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	const total, each = 40, 10
	s := start(t, func(o *listen.Options) {
		o.Limits = listen.Limits{Pending: total, PendingPerAddress: each, Burst: 100, Rate: 1, Authorize: time.Minute}
	})
	end := s.beside(t, "127.0.0.1")
	var c crowd
	c.dial(t, s, "127.0.0.2", 200, nil) // uses up what one address may open and hold
	polltest.Until(t, "one address holds no more than its share", func() bool { return c.open.Load() <= each })
	if got := s.client(t, "127.0.0.2").post(t.Context(), "https", token, "/", nil); got.err == nil {
		t.Errorf("an address over its limits: %+v", got)
	}
	for i := range 8 { // uses up what all may hold
		c.dial(t, s, fmt.Sprintf("127.0.0.%d", 3+i), each, nil)
	}
	polltest.Until(t, "all hold no more than the total", func() bool { return c.open.Load() <= total })
	if c.open.Load() < total/2 {
		t.Errorf("only %d connections are held", c.open.Load())
	}
	for i := range 20 {
		if got := s.client(t, "127.0.0.100").post(t.Context(), "https", token, "/", strings.NewReader("a")); got.status != http.StatusOK {
			t.Errorf("connection %d of another address: %+v", i, got)
		}
	}
	end()
	s.stop(t)
	c.wait.Wait()
}

// The defaults let a large fleet behind one address in.
func TestWorkersBehindOneAddress(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	testWorkersBehindOneAddress(t, 150)
}

func testWorkersBehindOneAddress(t *testing.T, n int) {
	t.Helper()
	s := start(t, nil)
	end := s.beside(t, "127.0.0.1")
	var wait sync.WaitGroup
	var attempts atomic.Int64
	began := time.Now()
	for range n {
		wait.Go(func() {
			c := s.client(t, "127.0.0.1")
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
				attempts.Add(1)
				got := c.post(t.Context(), "https", token, "/", strings.NewReader("a"))
				if got.status == http.StatusOK {
					break
				}
				if time.Now().After(deadline) {
					t.Errorf("%+v", got)
					break
				}
			}
		})
	}
	wait.Wait()
	t.Logf("%d clients connected in %s with %d attempts: %v", n, time.Since(began).Round(time.Millisecond), attempts.Load(), s.Refused())
	end()
}
