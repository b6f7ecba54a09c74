package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"assay.dev/assay/internal/servers/process"
)

// profiledFor is shorter than a closed-loop run.
const profiledFor = closedUntil - closedFrom

// generatorProfile writes a CPU profile of k6 with the scenario ingestion, as workers run
// it but for the executor, which k6 does not let profile.
func (b *bench) generatorProfile(ctx context.Context) error {
	if b.profiles == "" {
		return errors.New("name a folder: -profiles")
	}
	if err := b.writeScripts(); err != nil {
		return err
	}
	port, err := process.FreePort()
	if err != nil {
		return err
	}
	address := process.Address(port)
	r, err := b.start(ctx, variant{
		name: ours, script: "scenarios/ingestion.js",
		args: []string{"-e", "ASSAY_RUN=bench", "--address", address, "--profiling-enabled"},
	})
	if err != nil {
		return err
	}
	time.Sleep(closedFrom)
	data, err := fetchProfile(ctx, address)
	if err := errors.Join(err, r.wait()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.profiles, "generator.pprof"), data, 0o644)
}

func fetchProfile(ctx context.Context, address string) ([]byte, error) {
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%.0f", address, profiledFor.Seconds())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("profile: %s", resp.Status)
	}
	return io.ReadAll(resp.Body)
}
