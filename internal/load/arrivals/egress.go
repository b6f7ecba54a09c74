package arrivals

import (
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"sync"
	"syscall"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"

	"assay.dev/assay/internal/load/reach"
	"assay.dev/assay/internal/spec"
)

// egressGuard restricts the load to allowed hosts. A script may name another host, and
// a target may redirect to one: k6 follows ten redirects to any host. The first
// connection to another host is refused before it is made, and ends the run.
//
// k6's own modules (http, ws, grpc, redis) connect through the dialer of their VU.
// k6/x/sql has its own dialer, and its address comes from the operator.
type egressGuard struct {
	allowed    spec.File
	names      netext.Resolver // k6's own
	violations chan error      // holds the first violation

	mu        sync.Mutex
	addresses map[netip.Addr]bool // addresses that allowed names resolved to
}

// guardEgress guards all VUs that the runner will make, including those of setup()
// and teardown().
func guardEgress(runner lib.Runner, hosts []string) (*egressGuard, error) {
	// k6 has no public way to check each connection, but its runner has exported
	// fields, from which every VU's dialer is made.
	fields := reflect.Indirect(reflect.ValueOf(runner))
	if fields.Kind() != reflect.Struct {
		return nil, fmt.Errorf("guard egress: the runner is a %T", runner)
	}
	dialer, isDialer := pointerTo[net.Dialer](fields.FieldByName("BaseDialer"))
	resolver, isResolver := pointerTo[netext.Resolver](fields.FieldByName("Resolver"))
	if !isDialer || !isResolver {
		return nil, fmt.Errorf("guard egress: %T has no BaseDialer or Resolver", runner)
	}
	g := &egressGuard{
		allowed: spec.File{Targets: hosts}, names: *resolver,
		violations: make(chan error, 1), addresses: map[netip.Addr]bool{},
	}
	dialer.Control, *resolver = g.control, g
	return g, nil
}

func pointerTo[T any](field reflect.Value) (*T, bool) {
	if !field.IsValid() || !field.CanAddr() || !field.Addr().CanInterface() {
		return nil, false
	}
	p, ok := field.Addr().Interface().(*T)
	return p, ok
}

// LookupIP resolves an allowed name, and no other.
func (g *egressGuard) LookupIP(host string) (net.IP, error) {
	if !g.allowed.Allows(host, nil) {
		return nil, g.refuse(host)
	}
	ip, err := g.names.LookupIP(host)
	if addr, ok := netip.AddrFromSlice(ip); err == nil && ok {
		g.mu.Lock()
		g.addresses[addr.Unmap()] = true
		g.mu.Unlock()
		reach.Of.Named(host, addr)
	}
	return ip, err
}

// control checks a connection that is about to be made. Its address comes from a URL
// or was resolved from a name.
func (g *egressGuard) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return g.refuse(address)
	}
	addr := to.Addr().Unmap()
	g.mu.Lock()
	resolved := g.addresses[addr]
	g.mu.Unlock()
	if resolved || g.allowed.Allows(addr.WithZone("").String(), nil) {
		reach.Of.Connect(to)
		return nil
	}
	return g.refuse(addr.String())
}

// EgressViolationExit is the exit code of a worker whose load would have gone to
// another host; k6's own codes are below it.
const EgressViolationExit = 120

var _ errext.HasExitCode = &egressViolation{}

// egressViolation is a connection that the guard refused.
type egressViolation struct{ Host string }

func (e *egressViolation) Error() string {
	return fmt.Sprintf("load would go to %s, which is not allowed: list it in \"targets\" of thresholds.json, or pass it with --allow-target", e.Host)
}

// ExitCode makes it k6's exit code.
func (e *egressViolation) ExitCode() exitcodes.ExitCode { return EgressViolationExit }

func (g *egressGuard) refuse(host string) error {
	err := &egressViolation{host}
	select {
	case g.violations <- err:
	default: // the first is enough
	}
	return err
}

// violation returns the first refusal so far, if any, once.
func (g *egressGuard) violation() error {
	select {
	case err := <-g.violations:
		return err
	default:
		return nil
	}
}
