package host

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"sort"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/metric"
)

// The states of sockets that are asked for, as Linux numbers them (net/tcp_states.h).
const (
	Established = 1
	TimeWait    = 6
	listening   = 10
)

// Socket is a TCP socket of this machine.
type Socket struct {
	Local, Remote netip.AddrPort // an IPv4 address is never written as one of IPv6
	State         uint64
	inode         uint64
}

// Sockets reads the TCP sockets of the network namespace of this process from the folder
// /proc, or from a copy. With an error it also returns what it has read.
func Sockets(proc string) (all []Socket, err error) {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return nil, err
	}
	table4, err4 := fs.NetTCP()  //nolint:staticcheck // a netlink library would be one more dependency
	table6, err6 := fs.NetTCP6() //nolint:staticcheck // likewise; a kernel without IPv6 has one table
	for _, s := range slices.Concat(table4, table6) {
		all = append(all, Socket{endpoint(s.LocalAddr, s.LocalPort), endpoint(s.RemAddr, s.RemPort), s.St, s.Inode})
	}
	return all, errors.Join(err4, err6)
}

func endpoint(ip net.IP, port uint64) netip.AddrPort {
	address, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(address.Unmap(), uint16(port))
}

// Listener finds the process on this machine that listens on a TCP port, at an address of
// the named host or at all addresses. It returns false if there is none, if this process
// may not see it, or if it is a proxy to a container.
func Listener(ctx context.Context, name string, port int) (pid int, ok bool) {
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		return 0, false
	}
	addresses = append(addresses, "0.0.0.0", "::")
	sockets, _ := Sockets(procfs.DefaultMountPoint) // those of one table will do
	for _, s := range sockets {
		if s.State != listening || int(s.Local.Port()) != port || !slices.Contains(addresses, s.Local.Addr().String()) {
			continue
		}
		if p, found := owner(s); found {
			name, err := p.Comm()
			return p.PID, err != nil || name != "docker-proxy" // which Docker runs for a container's port
		}
	}
	return 0, false
}

// owner finds the oldest process that has the socket open.
func owner(s Socket) (procfs.Proc, bool) {
	all, err := procfs.AllProcs()
	if err != nil {
		return procfs.Proc{}, false
	}
	sort.Sort(all)
	for _, p := range all {
		open, err := p.FileDescriptorTargets()
		if err == nil && slices.Contains(open, fmt.Sprintf("socket:[%d]", s.inode)) {
			return p, true
		}
	}
	return procfs.Proc{}, false
}

// IsLocal reports whether a host name or address belongs to this machine.
func IsLocal(ctx context.Context, name string) bool {
	if collect.IsLoopback(name) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	found, _ := net.DefaultResolver.LookupIPAddr(ctx, name) // none: the name does not belong to this machine
	local, _ := net.InterfaceAddrs()                        // none: only loopback is known
	for _, a := range found {
		if a.IP.IsLoopback() || slices.ContainsFunc(local, func(n net.Addr) bool {
			prefix, ok := n.(*net.IPNet)
			return ok && prefix.IP.Equal(a.IP)
		}) {
			return true
		}
	}
	return false
}

// handshakeTimeout bounds a TCP handshake.
const handshakeTimeout = 900 * time.Millisecond

// roundTrips measures the round trip to the service once a second. The kernels at both ends
// answer a TCP handshake, so that neither program's own delay is in it. (The smoothed round
// trip of a connection in use is not suitable: the other end may delay its
// acknowledgements until it responds.)
type roundTrips struct {
	target *url.URL // URL of the service; nil: none
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
			_ = tls.Client(conn, &tls.Config{ServerName: target.Hostname(), InsecureSkipVerify: true}).HandshakeContext(ctx) //nolint:gosec // nothing is sent
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

// PortRange is the range of local ports of this process's network namespace; 0: unknown.
func PortRange(proc procfs.FS) (low, high int) {
	ends, err := proc.SysctlInts("net/ipv4/ip_local_port_range")
	if err != nil || len(ends) != 2 || ends[0] > ends[1] {
		return 0, 0
	}
	return ends[0], ends[1]
}
