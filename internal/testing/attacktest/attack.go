package attacktest

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Attack is a client of one server.
type Attack struct {
	Address string      // host:port
	TLS     *tls.Config // nil: no TLS; on a TLS port, connections without a handshake
	// Dial opens connections; nil: from this machine.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Ends counts how the connections or requests of an attack ended.
type Ends struct {
	Unsent  int         // not begun when the time was over
	Refused int         // not connected, or no TLS handshake, until the time was over
	Closed  int         // closed by the server without a response
	Open    int         // neither closed nor responded to when the time was over
	Status  map[int]int // responded to with this HTTP status
}

// Total is the number of connections or requests.
func (e Ends) Total() int {
	total := e.Unsent + e.Refused + e.Closed + e.Open
	for _, n := range e.Status {
		total += n
	}
	return total
}

// count counts an end that is a status (above 0), or an error.
func (e *Ends) count(ctx context.Context, status int, err error) {
	switch {
	case err == nil:
		if e.Status == nil {
			e.Status = map[int]int{}
		}
		e.Status[status]++
	case errors.Is(err, errUnsent):
		e.Unsent++
	case errors.Is(err, errRefused):
		e.Refused++
	case ctx.Err() != nil:
		e.Open++
	default:
		e.Closed++
	}
}

var (
	errUnsent  = errors.New("not begun")
	errRefused = errors.New("not connected")
)

// maxDials bounds the connections that are being opened at a time: a kernel drops
// those above the backlog of the listener, and tries again a second later.
const maxDials = 100

// Idle opens n connections and sends nothing.
func (a Attack) Idle(ctx context.Context, n int, limit time.Duration) (Ends, error) {
	return a.exchange(ctx, n, limit, func(context.Context, io.Writer) error { return nil })
}

// SlowHeaders sends n requests whose headers never end, a byte a second.
func (a Attack) SlowHeaders(ctx context.Context, n int, limit time.Duration) (Ends, error) {
	start := "GET / HTTP/1.1\r\nHost: " + a.Address + "\r\nX-Slow: "
	return a.exchange(ctx, n, limit, func(ctx context.Context, w io.Writer) error {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for i := 0; ; i++ {
			b := byte('a')
			if i < len(start) {
				b = start[i]
			}
			if _, err := w.Write([]byte{b}); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
	})
}

// Body posts a body of size bytes to path with these headers. sent is the part of it
// that the kernel has taken.
func (a Attack) Body(ctx context.Context, path string, header http.Header, size int64, limit time.Duration) (end Ends, sent int64, err error) {
	var written atomic.Int64
	end, err = a.exchange(ctx, 1, limit, func(_ context.Context, w io.Writer) error {
		if _, err := fmt.Fprintf(w, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", path, a.Address, size); err != nil {
			return err
		}
		if err := header.Write(w); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\r\n"); err != nil {
			return err
		}
		zeros := make([]byte, 64<<10)
		for left := size; left > 0; left = size - written.Load() {
			n, err := w.Write(zeros[:min(left, int64(len(zeros)))])
			written.Add(int64(n))
			if err != nil {
				return err
			}
		}
		return nil
	})
	return end, written.Load(), err
}

// exchange opens n connections, calls send on each, and awaits a response or the end of
// each connection, for the time limit at most. It fails only where this machine cannot
// open so many connections.
func (a Attack) exchange(ctx context.Context, n int, limit time.Duration, send func(context.Context, io.Writer) error) (ends Ends, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var (
		mu      sync.Mutex
		group   sync.WaitGroup
		dialing = make(chan struct{}, maxDials)
	)
	for range n {
		group.Go(func() {
			status, failure := a.one(ctx, dialing, send)
			mu.Lock()
			defer mu.Unlock()
			ends.count(ctx, status, failure)
			if exhausted(failure) {
				err = failure
				cancel()
			}
		})
	}
	group.Wait()
	return ends, err
}

// one is one connection of exchange, and the status of the response on it.
func (a Attack) one(ctx context.Context, dialing chan struct{}, send func(context.Context, io.Writer) error) (status int, err error) {
	select {
	case dialing <- struct{}{}:
	case <-ctx.Done():
		return 0, errUnsent
	}
	c, err := a.connect(ctx, "tcp", a.Address)
	<-dialing
	if err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_ = send(ctx, c) // what the server does about it is read below
	}()
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	cancel()
	_ = c.Close() // ends a blocked send
	<-sent
	if err != nil {
		return 0, err
	}
	_ = response.Body.Close()
	return response.StatusCode, nil
}

// connect opens a connection, with its TLS handshake.
func (a Attack) connect(ctx context.Context, network, address string) (net.Conn, error) {
	dial := a.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	c, err := dial(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	if a.TLS == nil {
		return c, nil
	}
	encrypted := tls.Client(c, a.TLS)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	return encrypted, nil
}

// exhausted reports whether this machine, not the server, is why a connection failed.
func exhausted(err error) bool {
	for _, own := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}
