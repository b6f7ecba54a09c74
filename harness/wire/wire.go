package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Paths of the coordinator.
const (
	PathReady        = "/v1/ready"        // POST Ready; 204, or 4xx with the reason why the run cannot start
	PathStart        = "/v1/start"        // POST StartRequest; answered by StartResponse once every worker is ready
	PathMetrics      = "/v1/metrics"      // POST OTLP protobuf
	PathAcknowledged = "/v1/acknowledged" // POST ledger entries; headers name source and sequence
)

// Headers of PathAcknowledged.
const (
	HeaderSource   = "Assay-Source"
	HeaderSequence = "Assay-Sequence"
)

// Environment variables that make a k6 process a worker. They are removed from the
// environment before k6 starts, so that scripts do not see the token.
const (
	EnvURL    = "ASSAY_COORDINATOR"
	EnvToken  = "ASSAY_COORDINATOR_TOKEN"
	EnvSource = "ASSAY_SOURCE"
)

// Ready reports that a worker has initialised its script and VUs.
type Ready struct {
	Source  string            `json:"source"`
	Metrics map[string]string `json:"metrics"` // registered metrics: name -> "trend", "rate", "counter", "gauge"
}

// StartRequest reports that a worker waits for the common start.
type StartRequest struct {
	Source string          `json:"source"`
	Setup  json.RawMessage `json:"setup,omitempty"` // result of setup(), from the worker that ran it
}

// StartResponse is the start signal.
type StartResponse struct {
	T0    time.Time       `json:"t0"`
	Setup json.RawMessage `json:"setup,omitempty"`
}

// Link is one worker's client.
type Link struct {
	Source string
	url    string
	token  string
	client *http.Client
}

// FromEnvironment makes the link that the environment describes, or nil if the
// variables are not set, and removes them.
func FromEnvironment() *Link {
	url, token, source := os.Getenv(EnvURL), os.Getenv(EnvToken), os.Getenv(EnvSource)
	for _, name := range []string{EnvURL, EnvToken, EnvSource} {
		_ = os.Unsetenv(name) // fails for malformed names only
	}
	if url == "" {
		return nil
	}
	return New(url, token, source)
}

// New makes a link to a coordinator.
func New(url, token, source string) *Link {
	return &Link{
		Source: source, url: strings.TrimSuffix(url, "/"), token: token,
		// A transport of its own: k6 tunes the default one, and a proxy of the
		// environment must not see the token.
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}},
	}
}

// RefusedError is a 4xx response, which a retry would not change.
type RefusedError struct {
	Status int
	Reason string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("coordinator refused (%d): %s", e.Status, e.Reason)
}

// Ready registers the worker.
func (l *Link) Ready(ctx context.Context, metrics map[string]string) error {
	body, err := json.Marshal(Ready{Source: l.Source, Metrics: metrics})
	if err != nil {
		return fmt.Errorf("register worker: %w", err)
	}
	_, err = l.post(ctx, PathReady, "application/json", body, nil)
	return err
}

// Start waits for the common start. It blocks until every worker is ready, or ctx is
// done.
func (l *Link) Start(ctx context.Context, setup json.RawMessage) (StartResponse, error) {
	body, err := json.Marshal(StartRequest{Source: l.Source, Setup: setup})
	if err != nil {
		return StartResponse{}, fmt.Errorf("wait for start: %w", err)
	}
	answer, err := l.post(ctx, PathStart, "application/json", body, nil)
	if err != nil {
		return StartResponse{}, err
	}
	var g StartResponse
	if err := json.Unmarshal(answer, &g); err != nil {
		return StartResponse{}, fmt.Errorf("wait for start: %w", err)
	}
	return g, nil
}

// Frames sends encoded frames once.
func (l *Link) Frames(ctx context.Context, body []byte) error {
	_, err := l.post(ctx, PathMetrics, "application/x-protobuf", body, nil)
	return err
}

// Acknowledged sends encoded ledger entries once.
func (l *Link) Acknowledged(ctx context.Context, sequence uint64, body []byte) error {
	_, err := l.post(ctx, PathAcknowledged, "text/plain", body, map[string]string{
		HeaderSource: l.Source, HeaderSequence: strconv.FormatUint(sequence, 10),
	})
	return err
}

// maxAnswer bounds a response. The longest is the start signal, with up to 16 MiB of
// setup()'s result.
const maxAnswer = 17 << 20

func (l *Link) post(ctx context.Context, path, contentType string, body []byte, headers map[string]string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("post to coordinator: %w", err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Authorization", "Bearer "+l.token)
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("post to coordinator: %w", err)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, fmt.Errorf("read coordinator's answer: %w", err)
	}
	switch {
	case resp.StatusCode < 300:
		return answer, nil
	case resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests:
		return nil, &RefusedError{resp.StatusCode, strings.TrimSpace(string(answer))}
	}
	return nil, fmt.Errorf("coordinator answered %s", resp.Status)
}
