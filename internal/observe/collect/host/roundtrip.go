package host

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"time"

	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/observe/metric"
)

// handshakeTimeout bounds a TCP handshake.
const handshakeTimeout = 900 * time.Millisecond

// roundTrips measures the round trip to the service once a second. The kernels at both ends
// answer a TCP handshake, so that neither program's own delay is in it. (The smoothed round
// trip of a connection in use is not suitable: the other end may delay its
// acknowledgements until it responds.)
type roundTrips struct {
	target *url.URL // of the service; nil: none
	done   chan float64
}

// start begins a handshake, unless the one before is still in progress.
func (r *roundTrips) start(ctx context.Context) {
	if r.target == nil || r.done != nil {
		return
	}
	done := make(chan float64, 1)
	r.done = done
	crash.Go(func() {
		defer close(done)
		if ms, ok := handshake(ctx, r.target); ok {
			done <- ms
		}
	})
}

// points reports the handshake that has ended, if any.
func (r *roundTrips) points(p *points) {
	if r.done == nil {
		return
	}
	select {
	case ms, ok := <-r.done:
		r.done = nil
		if ok {
			h := &metric.Hist{}
			h.Record(ms, 1)
			p.all = append(p.all, metric.HistPoint(metric.Of(metric.NetworkRoundTrip, "path", metric.SourceService), h))
		}
	default:
	}
}

// handshake opens and closes a connection, and returns the time in ms between the kernel's
// SYN and its answer.
func handshake(ctx context.Context, target *url.URL) (ms float64, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(target.Hostname(), cmp.Or(target.Port(), target.Scheme)))
	if err != nil {
		return 0, false
	}
	defer func() { _ = conn.Close() }()
	if target.Scheme == "https" { // else the server would log a handshake that was not completed
		defer func() {
			_ = tls.Client(conn, &tls.Config{ServerName: target.Hostname(), InsecureSkipVerify: true}).HandshakeContext(ctx)
		}()
	}
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(fd uintptr) {
		info, failed := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if failed == nil && info.Rtt > 0 {
			ms, ok = float64(info.Rtt)/1000, true
		}
	})
	return ms, ok && err == nil
}
