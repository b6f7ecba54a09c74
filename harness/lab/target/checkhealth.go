package target

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"assay/harness/hint"
)

// healthTimeout bounds the whole question: what asks every few seconds must
// not pile up before a service that hangs.
const healthTimeout = 4 * time.Second

// CheckHealth asks a running service and its database whether they answer.
func CheckHealth(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", http.NoBody)
	if err != nil {
		return hint.With(fmt.Errorf("--url %s is not a URL", url), "like --url http://127.0.0.1:18080")
	}
	// Without a proxy: the service is the one next to us.
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := direct.Do(req)
	if err != nil {
		return fmt.Errorf("service is not well: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("service is not well: GET %s/healthz: %s", url, resp.Status)
	}
	return nil
}
