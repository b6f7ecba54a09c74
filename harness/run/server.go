package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"assay/harness/load/fleet"
	"assay/harness/observe/collect/receiver"
	"assay/harness/wire"
)

// server is the address that workers report to.
type server struct {
	url   string
	token string
	http  *http.Server
	done  chan error
}

// token is the run's token.
func (o Options) token() string { return cmp.Or(o.Join.Token, rand.Text()) }

// serve listens for requests that carry the token.
func serve(j Join, keys wire.Keys, c *fleet.Coordinator, r *receiver.Receiver) (*server, error) {
	listener, err := net.Listen("tcp", cmp.Or(j.Listen, "127.0.0.1:0"))
	if err != nil {
		return nil, fmt.Errorf("listen for workers: %w", err)
	}
	mux := http.NewServeMux()
	c.Routes(mux)
	r.Routes(mux)
	s := &server{
		url: "http://" + cmp.Or(j.Advertise, listener.Addr().String()), token: keys.Token(),
		done: make(chan error, 1),
	}
	s.http = &http.Server{Handler: receiver.Authorize(keys, mux), ReadHeaderTimeout: 10 * time.Second}
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
}

// joinLine is the line that starts a worker elsewhere.
func (s *server) joinLine(j Join) string {
	token := s.token
	if j.Token != "" {
		token = "..." // whoever set it knows it
	}
	return fmt.Sprintf("start each worker with: ASSAY_JOIN_TOKEN=%s assay worker --join %s", token, s.url)
}

func (s *server) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // a request of a worker that was killed
	}
	if err := <-s.done; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("listen for workers: %w", err)
	}
	return nil
}
