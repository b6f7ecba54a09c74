package attacktest

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// maxRequests bounds the requests that wait for a response: the others are sent later
	// than the rate asks for.
	maxRequests = 200
	// patience is the time after the last request in which responses are awaited.
	patience = 10 * time.Second
)

// WrongTokens sends GET requests to path, each with a random bearer token: rate a
// second for the time limit.
func (a Attack) WrongTokens(ctx context.Context, path string, rate int, limit time.Duration) (ends Ends, err error) {
	sending, stop := context.WithTimeout(ctx, limit)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit+patience)
	defer cancel()
	scheme, transport := "http://", &http.Transport{DialContext: a.connect, MaxIdleConnsPerHost: maxRequests}
	if a.TLS != nil {
		scheme, transport.DialTLSContext = "https://", a.connect
	}
	defer transport.CloseIdleConnections()
	var (
		mu      sync.Mutex
		group   sync.WaitGroup
		waiting = make(chan struct{}, maxRequests)
		start   = time.Now()
		n       = int(float64(rate) * limit.Seconds())
	)
	for i := range n {
		select {
		case <-sending.Done():
		case <-time.After(time.Until(start.Add(time.Duration(i) * time.Second / time.Duration(rate)))):
		}
		select {
		case waiting <- struct{}{}:
		case <-sending.Done():
		}
		if sending.Err() != nil {
			mu.Lock()
			ends.Unsent = n - i
			mu.Unlock()
			break
		}
		group.Go(func() {
			defer func() { <-waiting }()
			status, failure := request(ctx, transport, scheme+a.Address+path)
			mu.Lock()
			defer mu.Unlock()
			ends.count(ctx, status, failure)
			if exhausted(failure) {
				err = failure
				stop()
			}
		})
	}
	group.Wait()
	return ends, err
}

// request sends a request with a random token, and returns the status of the response.
func request(ctx context.Context, transport *http.Transport, url string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+rand.Text())
	response, err := transport.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection is used again
	return response.StatusCode, nil
}
