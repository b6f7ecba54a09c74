package networktest

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// device is the name of a host's only device apart from loopback.
const device = "eth0"

// Host is a network namespace with one address.
type Host struct {
	name      string
	network   *Network
	namespace *namespace
	address   netip.Addr
	hardware  net.HardwareAddr
	wire      wire

	mu        sync.Mutex
	listeners []net.Listener
}

// Addr is the host's address.
func (h *Host) Addr() netip.Addr { return h.address }

// Command is exec.CommandContext for a process on the host. The process keeps its pid
// and parent: nsenter replaces itself by the command.
func (h *Host) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	if cmd.Err != nil { // the command was not found: Start says so
		return cmd
	}
	return exec.CommandContext(ctx, "nsenter", append([]string{h.namespace.option(), "--", cmd.Path}, args...)...)
}

// Do calls f on a thread of the host: sockets that f itself opens are the host's, on
// whichever thread they are used later. Those of goroutines that f starts are not, and
// f must not start processes (see Command).
func (h *Host) Do(f func() error) error { return h.namespace.do(f) }

// Listen is net.Listen on the host. The listener is closed when the test ends, at the
// latest.
func (h *Host) Listen(network, address string) (l net.Listener, err error) {
	err = h.Do(func() (err error) {
		l, err = net.Listen(network, address)
		return err
	})
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners = append(h.listeners, l)
	return l, nil
}

func (h *Host) closeListeners() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.listeners {
		_ = l.Close() // one that is already closed says so
	}
}

// DialContext is net.Dialer.DialContext from the host. The address is an IP address and
// a port: names are not resolved on the host.
func (h *Host) DialContext(ctx context.Context, network, address string) (c net.Conn, err error) {
	err = h.Do(func() (err error) {
		c, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return c, err
}

// Client is an HTTP client on the host, whose connections are closed when the test ends.
func (h *Host) Client() *http.Client {
	transport := &http.Transport{DialContext: h.DialContext}
	h.network.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Serve starts an HTTP server of this process on the host, which is closed when the
// test ends. Its URL names the host's address.
func (h *Host) Serve(handler http.Handler) *httptest.Server {
	h.network.t.Helper()
	l, err := h.Listen("tcp", netip.AddrPortFrom(h.address, 0).String())
	fatal(h.network.t, err, "listen on host "+h.name)
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: handler}}
	s.Start()
	h.network.t.Cleanup(s.Close)
	return s
}

// SetLink changes the delay and loss of a host that was added by RemoteHost.
func (h *Host) SetLink(link Link) {
	h.network.t.Helper()
	r, ok := h.wire.(*relay)
	if !ok {
		h.network.t.Fatalf("set link of host %s: it has no link that delays or loses packets; add it by RemoteHost", h.name)
	}
	r.link.Store(&link)
}

// Cut cuts the host off: packets to and from it are lost without an error, as those of
// a network that fails far away.
func (h *Host) Cut() {
	h.network.t.Helper()
	fatal(h.network.t, h.wire.cut(), "cut off host "+h.name)
}

// Restore ends a cut.
func (h *Host) Restore() {
	h.network.t.Helper()
	fatal(h.network.t, h.wire.restore(), "restore host "+h.name)
}

// configure gives the host's device its addresses and sets it up.
func (h *Host) configure() error {
	nl := h.namespace.netlink
	return h.namespace.onLink(device, func(link netlink.Link) error {
		return cmp.Or(nl.LinkSetHardwareAddr(link, h.hardware), nl.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{
			IP: h.address.AsSlice(), Mask: net.CIDRMask(prefix.Bits(), h.address.BitLen()),
		}}), nl.LinkSetUp(link))
	})
}

// learn tells the host another's hardware address. The hosts need not ask for it, so a
// link delays and loses nothing but data, and a cut gives no error "no route to host".
func (h *Host) learn(other *Host) error {
	return h.namespace.onLink(device, func(link netlink.Link) error {
		return h.namespace.netlink.NeighSet(&netlink.Neigh{
			LinkIndex: link.Attrs().Index, State: unix.NUD_PERMANENT,
			IP: other.address.AsSlice(), HardwareAddr: other.hardware,
		})
	})
}
