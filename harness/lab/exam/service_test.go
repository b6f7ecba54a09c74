package exam

import (
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"assay/harness/servers/process"
)

// startService starts the reference service as a process of its own, and
// returns its base URL and its id. It ends with the test.
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
	child, err := process.Start(cmd, process.Tied)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // nothing of it is needed: no drain
		if err := child.Kill(); err != nil {
			t.Errorf("end the service: %v", err)
		}
	})
	url = "http://" + process.Address(port)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if res, err := http.Get(url + "/healthz"); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return url, child.PID
			}
		}
		select {
		case <-child.Done():
			t.Fatalf("the service has ended: %v", child.Err())
		default:
		}
		if time.Now().After(end) {
			t.Fatal("the service does not become healthy")
		}
	}
}
