package target

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"assay.dev/assay/internal/hint"
)

// healthTimeout limits the whole check: checks every few seconds must not pile up at a
// service that hangs.
const healthTimeout = 4 * time.Second

// CheckHealth checks that a running service and its database respond.
func CheckHealth(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", http.NoBody)
	if err != nil {
		return hint.With(fmt.Errorf("--url %s is not a URL", url), "like --url http://127.0.0.1:18080")
	}
	// Without a proxy: the service is on this host.
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := direct.Do(req)
	if err != nil {
		return fmt.Errorf("service is unhealthy: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("service is unhealthy: GET %s/healthz: %s", url, resp.Status)
	}
	return nil
}
