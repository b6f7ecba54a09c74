package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"assay/harness/lab/target"
)

// healthTimeout bounds the whole question: what asks every few seconds must
// not pile up before a service that hangs.
const healthTimeout = 4 * time.Second

// newTargetHealth is for container engines: an image without a shell has no
// other program that could ask.
func newTargetHealth() *cobra.Command {
	c := &cobra.Command{
		Use:   "health",
		Short: "Ask a running reference service whether it is well",
		Long: `Health asks the reference service and its database, and ends with 0 when both
answer. It is what the health check of docker-compose.yml calls.`,
		Example: `  assay target health
  assay target health --url http://127.0.0.1:8080`,
		Args: noArguments,
	}
	url := c.Flags().String("url", "http://"+target.DefaultConfig().Listen, "base URL of the service")
	c.RunE = func(c *cobra.Command, _ []string) error { return askHealth(c.Context(), *url) }
	return c
}

func askHealth(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", http.NoBody)
	if err != nil {
		return usage("like --url http://127.0.0.1:18080", "--url %s is not a URL", url)
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
