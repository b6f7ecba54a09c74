//go:build live

package haproxy_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/renameio/v2"

	"assay.dev/assay/internal/servers/haproxy"
	"assay.dev/assay/internal/testing/budget"
)

// TestConfiguration: HAProxy accepts the configuration without a warning.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	a, b := haproxy.Server{Name: "a", Port: 1001, HealthPort: 1002}, haproxy.Server{Name: "b", Port: 1003, HealthPort: 1004}
	backup := b
	backup.Backup = true
	text, err := haproxy.Configuration([]haproxy.Listener{
		{Name: "writer", Port: 1005, Check: "/writer", Servers: []haproxy.Server{a, backup}},
		{Name: "both", Port: 1006, Check: "/reader", Servers: []haproxy.Server{a, b}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"bind 127.0.0.1:1005", "server a 127.0.0.1:1001 check port 1002\n", "server b 127.0.0.1:1003 check port 1004 backup\n",
		"bind 127.0.0.1:1006", "server b 127.0.0.1:1003 check port 1004\n", "httpchk GET /writer", "httpchk GET /reader",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := renameio.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	binary, err := haproxy.Find()
	if err != nil {
		t.Fatalf("%v (run: make test)", err)
	}
	if out, err := exec.CommandContext(t.Context(), binary, "-c", "-dW", "-f", file).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
