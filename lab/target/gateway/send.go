package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 10

// maxStatus is the length of a status that the service stores.
const maxStatus = 16

// newClient is a client that keeps connections open, as many as are in use.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			// No proxy from the environment: the gateway must be called directly.
			MaxIdleConns: 0, MaxIdleConnsPerHost: 10_000, IdleConnTimeout: 90 * time.Second,
			DialContext: (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// traceKey is the key of the context's trace.
type traceKey struct{}

// WithTrace keeps the header traceparent of a request, which calls for it then carry.
func WithTrace(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, traceparent)
}

// charge is the body of POST /charge.
type charge struct {
	ID   string `json:"id"`
	Mode string `json:"mode"`
}

// send makes a call over HTTP: POST /charge, or GET /charge/{id} as an inquiry. The
// provider recognises a repeated charge by its Idempotency-Key. It answers with the
// payment's status, and a declined payment with the status DECLINED or with 402; any other
// status of HTTP is an error.
func (g *Gateways) send(ctx context.Context, base string, r request) (Answer, error) {
	patient, cancel := context.WithTimeout(ctx, g.c.Patience)
	defer cancel()
	method, path, body := http.MethodGet, base+"/charge/"+url.PathEscape(r.id), []byte(nil)
	if r.kind == "charge" {
		method, path = http.MethodPost, base+"/charge"
		body, _ = json.Marshal(charge{r.id, r.mode}) // strings can be encoded
	}
	req, err := http.NewRequestWithContext(patient, method, path, bytes.NewReader(body))
	if err != nil {
		return Answer{Outcome: Failed}, nil // the URL has been checked
	}
	if r.kind == "charge" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", r.id)
		req.GetBody = nil // net/http would repeat a call by itself, because it has a key
	}
	if trace, ok := ctx.Value(traceKey{}).(string); ok {
		req.Header.Set("traceparent", trace)
	}
	answer, err := g.answer(req, r.mode)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return Answer{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return Answer{Outcome: TimedOut}, nil
	}
	return Answer{Outcome: Failed}, nil
}

func (g *Gateways) answer(req *http.Request, mode string) (Answer, error) {
	resp, err := g.http.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return Answer{}, err
	}
	var said struct {
		Status string `json:"status"`
	}
	_ = json.Unmarshal(text, &said) // without a status, that of HTTP counts
	if len(said.Status) > maxStatus || strings.ContainsFunc(said.Status, func(c rune) bool { return c < ' ' || c > '~' }) {
		said.Status = ""
	}
	switch {
	case resp.StatusCode == http.StatusPaymentRequired, resp.StatusCode == http.StatusOK && said.Status == statusDeclined:
		return Answer{Declined, statusDeclined}, nil
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		return Answer{Confirmed, cmp.Or(said.Status, providers[mode].success)}, nil
	}
	return Answer{Outcome: Failed}, nil
}
