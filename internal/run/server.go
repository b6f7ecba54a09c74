package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/collect/receiver"
	"assay.dev/assay/internal/wire"
	"assay.dev/assay/internal/wire/identity"
	"assay.dev/assay/internal/wire/listen"
)

// server is the address that workers, and other senders of metrics, report to.
type server struct {
	*listen.Server
	address identity.Address
	token   string
}

// keys check who sends. Workers that a run starts itself have a random token: workers of
// the user's own, which may wait at the same address, do not take their places.
func (o Options) keys() (wire.Keys, error) {
	if o.Join.Token == "" {
		return wire.NewKeys(o.ID, rand.Text()), nil
	}
	if err := identity.CheckToken(o.Join.Token); err != nil {
		return wire.Keys{}, err
	}
	if o.Join.Remote {
		return wire.NewKeys(o.ID, o.Join.Token), nil
	}
	return wire.NewKeys(o.ID, rand.Text()).WithForeignToken(o.Join.Token), nil
}

// identity is the coordinator's key. Workers that were started with a token of the
// user's own, before the coordinator, can compute the key from it.
func (j Join) identity(hosts ...string) (identity.Identity, error) {
	switch {
	case j.Certificate != "" || j.Key != "":
		return identity.Load(j.Certificate, j.Key)
	case j.Token != "":
		return identity.FromToken(j.Token, hosts...)
	}
	return identity.Random(hosts...)
}

// serve listens for requests that carry the run's token or a worker's credential.
func serve(j Join, keys wire.Keys, log *slog.Logger, c *fleet.Coordinator, r *receiver.Receiver) (*server, error) {
	host, _, err := net.SplitHostPort(cmp.Or(j.Advertise, j.Listen, ":0"))
	if err != nil {
		return nil, fmt.Errorf("listen for workers: %w", err)
	}
	key, err := j.identity(cmp.Or(host, "127.0.0.1"))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	c.Routes(mux)
	r.Routes(mux)
	s := &server{token: keys.Token()}
	s.Server, err = listen.Serve(listen.Options{
		Address: j.Listen, Identity: key, Handler: mux, Log: log,
		Authorize: func(bearer string) bool { _, known := keys.Sender(bearer); return known },
		Bodies: map[string]int64{
			wire.PathStart: fleet.MaxMessage, wire.PathLog: fleet.MaxLogPart, wire.PathMetrics: receiver.MaxBody, wire.PathAcknowledged: receiver.MaxBody,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("listen for workers: %w", err)
	}
	at := s.Address()
	s.address = identity.Address{
		URL:         "https://" + cmp.Or(j.Advertise, net.JoinHostPort(reachable(at.Addr()), strconv.Itoa(int(at.Port())))),
		Fingerprint: key.Fingerprint(),
	}
	return s, nil
}

// here is the address for workers on this host, which need not reach the advertised one.
func (s *server) here() identity.Address {
	at := s.Address()
	if at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	}
	return identity.Address{URL: "https://" + at.String(), Fingerprint: s.address.Fingerprint}
}

// reachable is an address by which other machines may reach one that is listened on: for
// every address of this host, the first that is not of loopback or of one link only.
func reachable(a netip.Addr) string {
	if !a.IsUnspecified() {
		return a.String()
	}
	all, _ := net.InterfaceAddrs() // none: the name of this host may do
	for _, one := range all {
		if p, err := netip.ParsePrefix(one.String()); err == nil && p.Addr().IsGlobalUnicast() {
			return p.Addr().String()
		}
	}
	name, _ := os.Hostname()
	return cmp.Or(name, "localhost")
}

// Told is the address that workers are told, ADDRESS:PORT, if its port is given.
func (j Join) Told() string {
	host, port, err := net.SplitHostPort(j.Listen)
	ip, notIP := netip.ParseAddr(host)
	if j.Advertise != "" || err != nil || notIP != nil {
		return cmp.Or(j.Advertise, j.Listen)
	}
	return net.JoinHostPort(reachable(ip), port)
}

// joinLine is the line that starts a worker elsewhere. A token that the user has set is
// not shown.
func (s *server) joinLine(j Join) string {
	token := s.token
	if j.Token != "" {
		token = "..."
	}
	return fmt.Sprintf("ASSAY_JOIN_TOKEN=%s assay worker --join %s", token, s.address)
}

// fewUnused is how many connections without a request are no sign of an attack: an HTTP
// client may open one more than it uses.
const fewUnused = 100

// refused says which connections were refused while the run went on; empty: none.
func (s *server) refused() string {
	all := s.Refused()
	var texts []string
	for _, why := range slices.Sorted(maps.Keys(all)) {
		if why != listen.Ended && !(why == listen.TooLate && all[why] < fewUnused) {
			texts = append(texts, fmt.Sprintf("%d (%s)", all[why], why))
		}
	}
	return strings.Join(texts, ", ")
}

func (s *server) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return s.Close(ctx)
}
