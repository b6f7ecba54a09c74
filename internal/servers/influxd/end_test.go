package influxd_test

import (
	"errors"
	"strings"
	"testing"

	"assay.dev/assay/internal/servers/influxd"
	"assay.dev/assay/internal/servers/process"
)

func TestProgramThatEnds(t *testing.T) {
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, err = influxd.Start(t.Context(), influxd.Options{Dir: dir, Port: port, Binary: "/bin/false"})
	if !errors.Is(err, process.ErrEnded) || !strings.Contains(err.Error(), "exit status 1") || !strings.Contains(err.Error(), influxd.LogFile(dir)) {
		t.Errorf("a program that ends: %v", err)
	}
}
