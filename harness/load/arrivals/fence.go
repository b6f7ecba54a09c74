package arrivals

import (
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"sync"
	"syscall"

	"go.k6.io/k6/errext"
	"go.k6.io/k6/errext/exitcodes"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/netext"

	"assay/harness/spec"
)

// fence keeps the load on hosts that it may go to. A script may name another
// one, and a target may lead there: k6 follows ten redirects, wherever they go.
// The first connection elsewhere is refused before it is made, and ends the run.
//
// All that k6's own modules send (http, ws, grpc, redis) goes through the dialer
// of its VU. k6/x/sql has one of its own, and its address from the operator.
type fence struct {
	allowed spec.File
	names   netext.Resolver // k6's own
	breach  chan error      // holds the first connection that was refused

	mu        sync.Mutex
	addresses map[netip.Addr]bool // what allowed names have led to
}

// raise puts a fence around all VUs that the runner will make, those of setup()
// and teardown() too.
func raise(runner lib.Runner, hosts []string) (*fence, error) {
	// k6 has no public way to look at each connection, but its runner has
	// exported fields, of which every VU's dialer is made.
	fields := reflect.Indirect(reflect.ValueOf(runner))
	if fields.Kind() != reflect.Struct {
		return nil, fmt.Errorf("guard the load: the runner is a %T", runner)
	}
	dialer, isDialer := pointerTo[net.Dialer](fields.FieldByName("BaseDialer"))
	resolver, isResolver := pointerTo[netext.Resolver](fields.FieldByName("Resolver"))
	if !isDialer || !isResolver {
		return nil, fmt.Errorf("guard the load: %T has no BaseDialer or Resolver", runner)
	}
	f := &fence{
		allowed: spec.File{Targets: hosts}, names: *resolver,
		breach: make(chan error, 1), addresses: map[netip.Addr]bool{},
	}
	dialer.Control, *resolver = f.control, f
	return f, nil
}

func pointerTo[T any](field reflect.Value) (*T, bool) {
	if !field.IsValid() || !field.CanAddr() || !field.Addr().CanInterface() {
		return nil, false
	}
	p, ok := field.Addr().Interface().(*T)
	return p, ok
}

// LookupIP resolves an allowed name, and no other.
func (f *fence) LookupIP(host string) (net.IP, error) {
	if !f.allowed.Allows(host, nil) {
		return nil, f.refuse(host)
	}
	ip, err := f.names.LookupIP(host)
	if addr, ok := netip.AddrFromSlice(ip); err == nil && ok {
		f.mu.Lock()
		f.addresses[addr.Unmap()] = true
		f.mu.Unlock()
	}
	return ip, err
}

// control looks at a connection that is about to be made. Its address was
// written in a URL or found for a name.
func (f *fence) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return f.refuse(address)
	}
	addr := to.Addr().Unmap()
	f.mu.Lock()
	found := f.addresses[addr]
	f.mu.Unlock()
	if found || f.allowed.Allows(addr.WithZone("").String(), nil) {
		return nil
	}
	return f.refuse(addr.String())
}

// BreachExit is the exit code of a worker whose load would have gone elsewhere;
// k6's own codes end below it.
const BreachExit = 120

var _ errext.HasExitCode = &BreachError{}

// BreachError is a connection that was refused.
type BreachError struct{ Host string }

func (e *BreachError) Error() string {
	return fmt.Sprintf("load would go to %s, which is not allowed: list it in \"targets\" of thresholds.json, or name it by --allow-target", e.Host)
}

// ExitCode is what k6 ends with because of it.
func (e *BreachError) ExitCode() exitcodes.ExitCode { return BreachExit }

func (f *fence) refuse(host string) error {
	err := &BreachError{host}
	select {
	case f.breach <- err:
	default: // the first is enough
	}
	return err
}

// breached gives the first refusal so far, if any, once.
func (f *fence) breached() error {
	select {
	case err := <-f.breach:
		return err
	default:
		return nil
	}
}
