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
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/harness/load/fleet"
	"assay/harness/observe/collect/receiver"
	"assay/harness/wire"
	"assay/harness/wire/identity"
	"assay/harness/wire/listen"
)

// server is the address that workers, and other senders of metrics, report to.
type server struct {
	*listen.Server
	address identity.Address
	token   string
}

// token is the run's token.
func (o Options) token() (string, error) {
	token := cmp.Or(o.Join.Token, rand.Text())
	return token, identity.CheckToken(token)
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
			wire.PathStart: fleet.MaxSetup, wire.PathLog: fleet.MaxLogPart, wire.PathMetrics: receiver.MaxBody, wire.PathAcknowledged: receiver.MaxBody,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("listen for workers: %w", err)
	}
	at := s.Address()
	s.address = identity.Address{
		URL:         "https://" + cmp.Or(j.Advertise, net.JoinHostPort(at.Addr().String(), strconv.Itoa(int(at.Port())))),
		Fingerprint: key.Fingerprint(),
	}
	return s, nil
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
