package arrivals

import (
	"os"
	"sync/atomic"
	"time"

	"assay.dev/assay/internal/crash"
)

// echo measures how late the generator reads from the network. A byte at a time
// goes through a pipe, whose reader Go's network poller wakes, as it wakes a VU
// whose response has arrived.
type echo struct {
	in, out *os.File
	sent    atomic.Int64 // when the byte in the pipe was sent, ns since t0; 0: the pipe is empty
	done    chan struct{}
}

// startEcho starts the reader. If no pipe can be made it returns nil, and only the
// heartbeat detects stalls.
func startEcho(t0 time.Time, stalls *Stalls) *echo {
	e := &echo{done: make(chan struct{})}
	var err error
	if e.in, e.out, err = os.Pipe(); err != nil {
		return nil
	}
	crash.Go(func() {
		defer close(e.done)
		buf := make([]byte, 1)
		for {
			if _, err := e.in.Read(buf); err != nil {
				return // stopped
			}
			stalls.echo(time.Duration(e.sent.Swap(0)), time.Since(t0))
		}
	})
	return e
}

// send sends a byte, unless one is still in the pipe.
func (e *echo) send(now time.Duration) {
	if e == nil || !e.sent.CompareAndSwap(0, int64(max(now, 1))) {
		return
	}
	_, _ = e.out.Write([]byte{0}) // does not block: the pipe is empty
}

// stop ends the reader, once it has read what is in the pipe.
func (e *echo) stop() {
	if e == nil {
		return
	}
	_ = e.out.Close()
	<-e.done
	_ = e.in.Close()
}
