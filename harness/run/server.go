package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"assay/harness/load/fleet"
	"assay/harness/observe/collect/receiver"
)

// server is the address that workers report to.
type server struct {
	url   string
	token string
	http  *http.Server
	done  chan error
}

// serve listens on a free port of loopback, for requests that carry the token.
func serve(c *fleet.Coordinator, r *receiver.Receiver) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for workers: %w", err)
	}
	mux := http.NewServeMux()
	c.Routes(mux)
	r.Routes(mux)
	s := &server{
		url: "http://" + listener.Addr().String(), token: rand.Text(),
		done: make(chan error, 1),
	}
	s.http = &http.Server{Handler: receiver.Authorize(s.token, mux), ReadHeaderTimeout: 10 * time.Second}
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
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
