package neighbour

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/spec"
)

const (
	healthPeriod = time.Second
	// maxHealthBody is how much of an answer is read, so that its connection is used again.
	maxHealthBody = 64 << 10
)

// health requests the health of a neighbour once a second. An answer counts in the second in
// which it came, or in which the time for it was over.
type health struct {
	url     string
	timeout time.Duration
	client  *http.Client

	mu    sync.Mutex
	since counts
}

func newHealth(n spec.Neighbour) *health {
	return &health{url: n.URL, timeout: n.Timeout, client: &http.Client{
		Transport: &http.Transport{
			// No proxy from the environment: the neighbour must be called directly.
			MaxIdleConnsPerHost:    1,
			MaxResponseHeaderBytes: maxHealthBody,
			DialContext:            (&net.Dialer{Timeout: n.Timeout}).DialContext,
		},
		// A redirect is not a good answer, and could lead anywhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (h *health) examine(ctx context.Context) error {
	err := h.request(ctx)
	if err != nil {
		err = hint.With(fmt.Errorf("its health is bad before the load: %w", err), "check the URL, and what is wrong with the neighbour: a load test could make it worse")
	}
	return err
}

// request returns why the neighbour's health is not good; nil if it is.
func (h *health) request(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout, fmt.Errorf("no answer within %s: %w", h.timeout, context.DeadlineExceeded))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url, nil)
	if err != nil {
		return err
	}
	resp, err := h.client.Do(req)
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxHealthBody))
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return context.Cause(ctx)
	case err != nil:
		return foreign.Line(err)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return fmt.Errorf("it answers %s", foreign.Status(resp))
	}
	return nil
}

// run sends the requests. A slow answer does not delay the next request, so that a neighbour
// that hangs fails once a second.
func (h *health) run(ctx context.Context) {
	tick := time.NewTicker(healthPeriod)
	defer tick.Stop()
	var open crash.Group
	defer open.Wait()
	for {
		open.Go(func() {
			err := h.request(ctx)
			if ctx.Err() != nil {
				return // it shows nothing
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			h.since.requests++
			if err != nil {
				h.since.errors++
			}
		})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (h *health) read(context.Context) (c counts, ok bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, h.since = h.since, counts{}
	return c, true, nil
}

func (h *health) close() { h.client.CloseIdleConnections() }
