package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// statusBody is a status as k6's REST API describes it: a run that has not started.
const statusBody = `{"data":{"type":"status","id":"default","attributes":{"status":0,"paused":true,"vus":0,"vus-max":0,"stopped":false,"running":false,"tainted":false}}}`

// ServeStatus answers the k6-operator until ctx is done. The operator starts workers as
// `k6 run`, asks each for its status until it is there, and then tells it to start. A
// worker starts when its coordinator says so, so that it changes nothing.
func ServeStatus(ctx context.Context, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen for the k6-operator: %w", err)
	}
	mux := http.NewServeMux()
	status := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(statusBody))
	}
	mux.HandleFunc("GET /v1/status", status)
	mux.HandleFunc("PATCH /v1/status", status)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second, ReadTimeout: time.Second, WriteTimeout: time.Second, MaxHeaderBytes: 8 << 10}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer the k6-operator: %w", err)
	}
	return nil
}
