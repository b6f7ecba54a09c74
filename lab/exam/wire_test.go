//go:build long

package exam

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// slowWire is a TCP proxy before the database whose delay can be changed.
type slowWire struct {
	address string
	delay   atomic.Int64 // ns, each way
	carried atomic.Int64 // bytes that were delayed
}

// openWire starts a proxy to an address, until the test ends.
func openWire(t *testing.T, to string) *slowWire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &slowWire{address: l.Addr().String()}
	var mu sync.Mutex
	var open []net.Conn
	closed := false
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		closed = true
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				continue
			}
			mu.Lock()
			open = append(open, client, server)
			if closed {
				_, _ = client.Close(), server.Close()
			}
			mu.Unlock()
			running.Go(func() { w.carry(client, server) })
			running.Go(func() { w.carry(server, client) })
		}
	})
	return w
}

// parcel is what was read at once, and when it is due at the other end.
type parcel struct {
	data []byte
	due  time.Time
}

// carry copies one direction, each byte after the delay, until an end closes.
func (w *slowWire) carry(from, to net.Conn) {
	parcels := make(chan parcel, 1024)
	go func() {
		defer close(parcels)
		for {
			data := make([]byte, 16<<10)
			n, err := from.Read(data)
			if n > 0 {
				delay := time.Duration(w.delay.Load())
				if delay > 0 {
					w.carried.Add(int64(n))
				}
				parcels <- parcel{data[:n], time.Now().Add(delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range parcels {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			_, _ = from.Close(), to.Close()
			_, _ = io.Copy(io.Discard, from)
		}
	}
	_ = to.Close()
}

// through is the DSN of the same database by way of the proxy.
func (w *slowWire) through(t *testing.T, dsn string) string {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	c.Net, c.Addr = "tcp", w.address
	return c.FormatDSN()
}
