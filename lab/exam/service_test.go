//go:build long

package exam

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/testing/processtest"
)

// startService starts the reference service in another process, until the test ends.
func startService(t *testing.T, dsn string, args ...string) (url string, pid int) {
	t.Helper()
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{asService, "--listen", process.Address(port)}, args...)...)
	cmd.Env = append(os.Environ(), "ASSAY_DB="+dsn)
	cmd.Stderr = os.Stderr
	child := processtest.Start(t, cmd)
	url = "http://" + process.Address(port)
	err = process.Await(t.Context(), 20*time.Second, child.Done(), func(context.Context) error {
		res, err := http.Get(url + "/healthz")
		if err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK {
			err = errors.New(res.Status)
		}
		return errors.Join(err, res.Body.Close())
	})
	if err != nil {
		t.Fatalf("start the service: %v", err)
	}
	return url, child.PID
}
