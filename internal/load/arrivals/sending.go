package arrivals

import (
	"net"
	"strings"
	"sync/atomic"
	"syscall"

	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/lib/netext"
)

// sending notes whether a VU's current transaction has begun to send anything: it looked a
// name up, opened a connection, or sent a statement. A request that was sent on a connection
// that is open already is not noted here: k6 reports its bytes at the end of the transaction.
type sending struct {
	begun  atomic.Bool
	dialer *netext.Dialer // k6's, of the VU; nil: it is not watched
	// unknown: the build has extensions that may have connections of their own.
	unknown bool
}

// watch notes what is sent by a dialer.
func (s *sending) watch(dialer *netext.Dialer) {
	s.dialer, s.unknown = dialer, hasOtherExtensions()
	allow := dialer.Control
	dialer.Control = func(network, address string, c syscall.RawConn) error {
		s.begun.Store(true)
		if allow == nil {
			return nil
		}
		return allow(network, address, c)
	}
	dialer.Resolver = &watchedResolver{dialer.Resolver, s}
}

// watchedResolver notes the names that a VU looks up.
type watchedResolver struct {
	netext.Resolver
	of *sending
}

// LookupIP resolves a name.
func (r *watchedResolver) LookupIP(host string) (net.IP, error) {
	r.of.begun.Store(true)
	return r.Resolver.LookupIP(host)
}

// nothing reports whether the transaction has begun to send nothing for certain, apart from
// bytes that k6 has reported.
func (s *sending) nothing() bool {
	return s.dialer != nil && !s.unknown && !s.begun.Load() && atomic.LoadInt64(&s.dialer.BytesWritten) == 0
}

// hasOtherExtensions reports whether this build offers scripts other extensions than ours.
func hasOtherExtensions() bool {
	for name := range ext.Get(ext.JSExtension) {
		if strings.HasPrefix(name, "k6/x/") && !strings.HasPrefix(name, "k6/x/sql") && !strings.HasPrefix(name, "k6/x/assay/") {
			return true
		}
	}
	return false
}

// Sends notes that a VU, by its number, sends something by other means than k6's dialer.
func (v *VUs) Sends(number uint64) {
	if p := v.Pauses(number); p != nil {
		p.sending.begun.Store(true)
	}
}
