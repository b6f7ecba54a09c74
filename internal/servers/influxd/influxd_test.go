//go:build live

package influxd_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay.dev/assay/internal/servers/influxd"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/influxtest"
)

// A server is found by its folder, stops cleanly, and starts again on its data; if its
// password is lost, the start fails at once.
func TestFolder(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	o := influxd.Options{Dir: filepath.Join(t.TempDir(), "influx"), Binary: influxtest.Binary(t), Life: process.Tied}
	start := func() (s *influxd.Server, err error) {
		err = process.OnFreePort(func(port int) error {
			o.Port = port
			s, err = influxd.Start(t.Context(), o)
			return err
		})
		return s, err
	}
	if _, err := influxd.Attach(o.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("before the first start: %v", err)
	}
	first, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Kill() })
	attached, err := influxd.Attach(o.Dir)
	if err != nil || attached.Process != first.Process || attached.Token() != first.Token() {
		t.Fatalf("attached to %+v: %v", attached, err)
	}
	if err := attached.Stop(); err != nil {
		t.Error(err)
	}
	if first.Process.Alive() {
		t.Error("alive after Stop")
	}
	second, err := start()
	if err != nil {
		t.Fatal(err)
	}
	if second.Token() != first.Token() {
		t.Error("the password has changed")
	}
	if err := second.Kill(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(o.Dir, "server.json")); err != nil {
		t.Fatal(err)
	}
	// At once, and not when no more answers are awaited.
	if s, err := start(); err == nil || !strings.Contains(err.Error(), "authentication failed") || strings.Contains(err.Error(), "no answer within") {
		t.Errorf("with another password: %v, %v", s, err)
	}
}
