package arrivals

import (
	"context"
	"fmt"
	"net"
	"reflect"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// Unconnected is a connection that could not be opened, as the outputs get it.
type Unconnected struct {
	VU    string // value of VUTag
	Error string
}

// GetSamples is empty: only our output reads it.
func (Unconnected) GetSamples() []metrics.Sample { return nil }

// watchedDialer is the dialer of a VU's modules, other than k6/http, which reports its requests
// whatever became of them: of a gRPC client that cannot connect k6 reports nothing, and the
// script may go on.
type watchedDialer struct {
	dialer
	run *execution
	vu  string
}

// dialer is what modules use of k6's own.
type dialer interface {
	lib.DialContexter
	lib.AddrResolver
}

// DialContext opens a connection, and reports it if that fails.
func (d *watchedDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dialer.DialContext(ctx, network, address)
	if err != nil {
		select {
		case d.run.out <- Unconnected{d.vu, err.Error()}:
		case <-d.run.ctx.Done(): // which may be why
		}
	}
	return conn, err
}

// watchDialer watches the connections of a VU that does not run yet. k6 has no public way to
// its state, of which modules take the dialer.
func (r *execution) watchDialer(vu lib.ActiveVU, name string) error {
	field := reflect.Indirect(reflect.ValueOf(vu)).FieldByName("state")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*lib.State]() || field.IsNil() {
		return fmt.Errorf("watch connections: %T has no state", vu)
	}
	state := (*lib.State)(field.UnsafePointer())
	own, ok := state.Dialer.(dialer)
	if !ok {
		return fmt.Errorf("watch connections: the dialer is a %T", state.Dialer)
	}
	if watched, ours := own.(*watchedDialer); ours { // of a scenario before
		own = watched.dialer
	}
	state.Dialer = &watchedDialer{own, r, name}
	return nil
}
